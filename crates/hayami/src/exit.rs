//! How the program ends: a line for people and a code for scripts (sysexits.h).

use std::fmt;
use std::process::ExitCode;

/// Why the program failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line makes no sense: 64.
    Usage(String),
    /// A directory or file named on the command line does not exist: 66.
    NoInput(String),
    /// An address is taken: 69.
    Unavailable(String),
    /// The system refused something else: 71.
    System(String),
    /// A file could not be created: 73.
    CannotCreate(String),
    /// Missing permissions: 77.
    NoPermission(String),
    /// The configuration is wrong: 78.
    Config(String),
    /// Any of these, with a text of several lines that is already rendered.
    Rendered {
        /// The exit code.
        code: u8,
        /// The text.
        text: String,
    },
    /// The server has ended with this exit code; the error log has the reason.
    Logged(u8),
}

impl Failure {
    /// The text without the program's name, for the error log.
    pub(crate) fn reason(&self) -> String {
        self.to_string().trim_start_matches("hayami: ").to_owned()
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 64,
            Self::NoInput(_) => 66,
            Self::Unavailable(_) => 69,
            Self::System(_) => 71,
            Self::CannotCreate(_) => 73,
            Self::NoPermission(_) => 77,
            Self::Config(_) => 78,
            Self::Rendered { code, .. } | Self::Logged(code) => *code,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Logged(_) => Ok(()),
            Self::Rendered { text, .. } => f.write_str(text.trim_end()),
            Self::Config(text)
            | Self::Usage(text)
            | Self::NoInput(text)
            | Self::Unavailable(text)
            | Self::System(text)
            | Self::CannotCreate(text)
            | Self::NoPermission(text) => write!(f, "hayami: {text}"),
        }
    }
}

/// Failures of independent steps, reported to the user together.
#[derive(Debug, Default)]
pub(crate) struct Failures(Vec<Failure>);

impl Failures {
    /// The result of a step, unless it has failed.
    pub(crate) fn note<T>(&mut self, result: Result<T, Failure>) -> Option<T> {
        result.map_err(|failure| self.0.push(failure)).ok()
    }

    /// What is left when all steps have been taken.
    ///
    /// # Errors
    /// All failures as one, with the exit code that they have in common, otherwise that of a wrong configuration.
    pub(crate) fn conclude<T>(mut self, result: Option<T>) -> Result<T, Failure> {
        match (result, self.0.len()) {
            (Some(result), 0) => Ok(result),
            (_, 1) => Err(self.0.remove(0)),
            _ => {
                let code = self.0.first().map_or(71, Failure::code);
                let code = if self.0.iter().all(|own| own.code() == code) { code } else { 78 };
                let texts: Vec<_> = self.0.iter().map(Failure::to_string).collect();
                Err(Failure::Rendered { code, text: texts.join("\n") })
            }
        }
    }
}

/// Reports the failure, if any, and returns the process's exit code.
pub(crate) fn finish(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Logged(code)) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.code())
        }
    }
}

/// Prints to standard output. A reader that closed it early (`hayami --help | head -1`) has read enough.
///
/// # Errors
/// None; the type fits the other commands.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    use std::io::Write;
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_configuration_exits_with_78_as_sysexits_says() {
        assert_eq!(Failure::Config("x".into()).code(), 78);
        let rendered = Failure::Rendered { code: 73, text: "x:1:2\n".into() };
        assert_eq!((rendered.code(), rendered.to_string()), (73, "x:1:2".into()));
        assert_eq!(Failure::Usage("no".into()).to_string(), "hayami: no");
    }

    #[test]
    fn all_failures_are_told_with_the_code_that_they_share() {
        let of = |failures: &[fn(String) -> Failure]| {
            let mut all = Failures::default();
            assert_eq!(all.note(Ok(1)), Some(1));
            failures.iter().for_each(|failure| assert_eq!(all.note::<()>(Err(failure("x".into()))), None));
            all.conclude(Some(())).map_err(|failure| (failure.code(), failure.to_string()))
        };
        assert_eq!(of(&[]), Ok(()));
        assert_eq!(of(&[Failure::System]), Err((71, "hayami: x".into())));
        assert_eq!(of(&[Failure::System, Failure::System]), Err((71, "hayami: x\nhayami: x".into())));
        assert_eq!(of(&[Failure::System, Failure::Unavailable]), Err((78, "hayami: x\nhayami: x".into())));
    }
}
