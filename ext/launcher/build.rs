//! Makes `Kind`, the hook events, of the table of the client's events.

use nanoserde::{Toml, TomlParser};
use std::collections::BTreeMap;
use std::{env, error::Error, fs, path::Path};

const TABLE: &str = "events.toml";
/// What the launcher reads of an event, in the order of `kinds!`.
const FACTS: [&str; 7] = ["name", "budget_ms", "waits_ms", "ends_ms", "gates", "asks", "context"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={TABLE}");
    println!("cargo::rerun-if-changed=build.rs");
    let table = TomlParser::parse(&fs::read_to_string(TABLE)?)?;
    let Some(Toml::Array(events)) = table.get("event") else { return Err("events.toml: no [[event]]".into()) };
    let rows = events.iter().map(row).collect::<Result<String, _>>()?;
    let out = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    fs::write(Path::new(&out).join("kinds.rs"), format!("kinds! {{\n{rows}}}\n"))?;
    Ok(())
}

/// One event of `kinds!`: `PreTool = ("hooks.pre-tool", "PreToolUse", 100, 100, 4000, true, true, true);`.
fn row(event: &BTreeMap<String, Toml>) -> Result<String, String> {
    let fact = |name: &str| match event.get(name) {
        Some(Toml::Str(text)) => Ok(format!("{text:?}")),
        Some(Toml::Num(number)) => Ok(format!("{number}")),
        Some(Toml::Bool(truth)) => Ok(truth.to_string()),
        _ => Err(format!("{TABLE}: an event without {name}: {event:?}")),
    };
    let Some(Toml::Str(verb)) = event.get("verb") else { return Err(format!("{TABLE}: an event without verb")) };
    let facts = FACTS.iter().map(|name| fact(name)).collect::<Result<Vec<_>, _>>()?;
    Ok(format!("    {} = (\"hooks.{verb}\", {});\n", pascal(verb), facts.join(", ")))
}

/// `pre-tool` as `PreTool`.
fn pascal(verb: &str) -> String {
    let capital = |word: &str| word.get(..1).map_or(String::new(), |first| first.to_uppercase() + &word[1..]);
    verb.split('-').map(capital).collect()
}
