//! Prints the name of every op in the registry, a line each.

fn main() {
    let names: std::collections::BTreeSet<_> = tfvk_ops::registry::all().map(|def| def.op).collect();
    for name in names {
        println!("{name}");
    }
}
