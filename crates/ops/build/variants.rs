//! The `// variants:` lines of a shader: which parameters it has and which combinations of their values are built.

use crate::dtypes;

/// One parameter's value in one variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// As written: an element type (`f32`), a word (`sum`) or an integer.
    pub text: String,
    /// For a word: its index among all words that the file uses for this parameter.
    pub index: usize,
}

/// What a shader file declares.
#[derive(Debug, Default)]
pub struct Variants {
    /// The parameters' names, in order.
    pub params: Vec<String>,
    /// The combinations, each with one value per parameter.
    pub list: Vec<Vec<Value>>,
    /// Per parameter, every value that occurs.
    pub values: Vec<Vec<String>>,
}

/// Reads `// variants: T = f32 f16; OP = sum max` lines; each is a product, all of them together a union. A file
/// without such a line has one variant.
pub fn parse(text: &str) -> Result<Variants, String> {
    let mut all = Variants::default();
    let lines: Vec<&str> = text.lines().filter_map(|l| l.trim().strip_prefix("// variants:")).collect();
    if lines.is_empty() {
        all.list.push(Vec::new());
        return Ok(all);
    }
    for line in lines {
        product(line, &mut all)?;
    }
    for variant in &mut all.list {
        for (value, known) in variant.iter_mut().zip(&all.values) {
            value.index = known.iter().position(|k| *k == value.text).unwrap_or(0);
        }
    }
    Ok(all)
}

fn product(line: &str, all: &mut Variants) -> Result<(), String> {
    let mut params = Vec::new();
    let mut choices: Vec<Vec<String>> = Vec::new();
    for part in line.split(';').map(str::trim).filter(|p| !p.is_empty()) {
        let (name, values) = part.split_once('=').ok_or_else(|| format!("expected NAME = values, got {part:?}"))?;
        params.push(name.trim().to_string());
        choices.push(values.split_whitespace().flat_map(dtypes::expand).collect());
    }
    if all.params.is_empty() {
        all.values = vec![Vec::new(); params.len()];
        all.params = params;
    } else if all.params != params {
        return Err(format!("all variants lines must have the same parameters: {:?} and {params:?}", all.params));
    }
    for (known, new) in all.values.iter_mut().zip(&choices) {
        for value in new {
            if !known.contains(value) {
                known.push(value.clone());
            }
        }
    }
    let mut list: Vec<Vec<Value>> = vec![Vec::new()];
    for values in &choices {
        list = list
            .iter()
            .flat_map(|v| values.iter().map(|x| [v.as_slice(), &[Value { text: x.clone(), index: 0 }]].concat()))
            .collect();
    }
    all.list.extend(list);
    Ok(())
}
