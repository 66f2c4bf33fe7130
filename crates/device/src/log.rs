//! Messages to standard error, by the level of TFVK_LOG.
//!
//! Not the `log` crate: the product is a shared library inside a process that configures no Rust logger, so the facade
//! would print nothing, and a facade with a private back end is this file and a dependency.

use std::fmt;
use std::sync::OnceLock;

/// How much a message matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something failed.
    Error,
    /// Something is not as it should be; work goes on.
    Warn,
    /// What is being used.
    Info,
    /// What is being done.
    Debug,
}

impl Level {
    /// The level of this name, in any case.
    pub fn parse(name: &str) -> Option<Level> {
        let all = [("error", Level::Error), ("warn", Level::Warn), ("info", Level::Info), ("debug", Level::Debug)];
        all.into_iter().find(|(n, _)| n.eq_ignore_ascii_case(name.trim())).map(|(_, level)| level)
    }
}

static LEVEL: OnceLock<Level> = OnceLock::new();

fn level() -> Level {
    // A wrong value is reported as an error where the other settings are read; here it means the default.
    *LEVEL.get_or_init(|| std::env::var("TFVK_LOG").ok().and_then(|v| Level::parse(&v)).unwrap_or(Level::Warn))
}

/// Whether messages of this level are printed.
pub fn enabled(of: Level) -> bool {
    of <= level()
}

/// Print a message; the macros call this.
pub fn write(of: Level, message: fmt::Arguments<'_>) {
    use std::io::Write;
    if enabled(of) {
        let letter = ["E", "W", "I", "D"][of as usize];
        // One write, so that lines of several threads do not mix; a closed standard error is nobody's failure.
        let _ = std::io::stderr().write_all(format!("tensorflow-vulkan {letter}: {message}\n").as_bytes());
    }
}

/// Print a formatted message at the level named first: `log!(Warn, "...")`.
#[macro_export]
macro_rules! log {
    ($level:ident, $($arg:tt)+) => {
        if $crate::log::enabled($crate::log::Level::$level) {
            $crate::log::write($crate::log::Level::$level, format_args!($($arg)+));
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(Level::parse(" Debug"), Some(Level::Debug));
        assert_eq!(Level::parse("verbose"), None);
        assert!(Level::Error < Level::Debug);
    }
}
