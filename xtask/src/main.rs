//! The project's chores. `cargo xtask ci` is what continuous integration runs before the Python tests; each of its steps
//! can be run alone: `cargo xtask fmt | clippy | deps | arch | shaders | test | valgrind | weak |
//! validation`, and so can `msrv`, which is none of them.

mod arch;
mod deps;
mod files;
mod msrv;
mod shaders;
mod steps;
mod valgrind;

use std::process::ExitCode;
use std::time::Instant;

/// A step's outcome: the sentence for the summary, or the reasons why it failed.
type Outcome = Result<String, String>;
/// A step: its name, what it does, and the function that does it.
type Step = (&'static str, &'static str, fn() -> Outcome);

/// What `ci` runs, in this order: what is quick and often wrong comes first.
const STEPS: &[Step] = &[
    ("fmt", "the formatting of the Rust code", steps::fmt),
    ("arch", "the architecture: crates, unsafe, file headers and lengths, words", arch::check),
    ("deps", "licences and direct dependencies", deps::check),
    ("clippy", "the lints, warnings denied", steps::clippy),
    ("test", "the Rust tests", steps::test),
    ("valgrind", "the tests of the seams to TensorFlow under valgrind", valgrind::seams),
    ("weak", "the device's and the ops' tests on an imitated weak device", steps::weak),
    ("validation", "the same under Vulkan's validation layer", steps::validation),
    ("shaders", "every embedded shader under spirv-val", shaders::validate),
];

/// What is run by name alone, as it needs what `ci` does not install.
const MORE: &[Step] = &[("msrv", "that it builds with the oldest Rust that it promises (not in ci)", msrv::check)];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let chosen: Vec<&Step> = match arguments.first().map(String::as_str) {
        Some("ci") if arguments.len() == 1 => STEPS.iter().collect(),
        Some(_) => STEPS.iter().chain(MORE).filter(|s| arguments.iter().any(|a| a == s.0)).collect(),
        None => Vec::new(),
    };
    if chosen.is_empty() || (arguments[0] != "ci" && chosen.len() != arguments.len()) {
        eprintln!("usage: cargo xtask ci, or some of:");
        STEPS.iter().chain(MORE).for_each(|(name, what, _)| eprintln!("  {name:12}{what}"));
        return ExitCode::from(2);
    }
    let mut failed = 0;
    let mut summary = Vec::new();
    for (name, what, step) in chosen {
        println!("xtask {name}: {what}");
        let start = Instant::now();
        let outcome = step();
        let seconds = start.elapsed().as_secs_f32();
        match outcome {
            Ok(said) => summary.push(format!("  ok      {name:12}{seconds:7.1} s  {said}")),
            Err(why) => {
                failed += 1;
                eprintln!("{why}");
                summary.push(format!("  FAILED  {name:12}{seconds:7.1} s"));
            }
        }
    }
    summary.iter().for_each(|line| println!("{line}"));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
