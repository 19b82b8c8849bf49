//! The options of the bench programs, from the command line.

use std::str::FromStr;

/// The words behind the program's name.
#[derive(Debug)]
pub(crate) struct Options(Vec<String>);

impl Options {
    /// Those this program was started with.
    pub(crate) fn of_program() -> Self {
        Self(std::env::args().skip(1).collect())
    }

    /// Whether `cargo bench` started it. `cargo test` starts it too: then a small run shows that it works.
    pub(crate) fn measure(&self) -> bool {
        self.has("--bench")
    }

    /// Whether an option without a value is given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|word| word == name)
    }

    /// The value behind an option, if it is given.
    pub(crate) fn value<T: FromStr>(&self, name: &str) -> Option<T> {
        let at = self.0.iter().position(|word| word == name)?;
        let value = self.0.get(at + 1).unwrap_or_else(|| panic!("{name} needs a value"));
        Some(value.parse().unwrap_or_else(|_| panic!("{name} has a value that is none, value={value}")))
    }
}
