//! The environment of a measurement, which is needed to repeat it.

use std::fs;

/// The program, the command and the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Name and version of this program: `hayami 0.1.0`.
    pub program: String,
    /// The command line arguments that repeat the run, the program's name first.
    pub command: Vec<String>,
    /// The machine of the generator.
    pub machine: Machine,
}

/// The machine of the generator. Unknown values are empty or 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The processor's model name.
    pub cpu: String,
    /// Processors that this process may use.
    pub cores: usize,
    /// Bytes of memory.
    pub memory: u64,
    /// For instance `Linux 6.18.0`.
    pub kernel: String,
    /// For instance `x86_64`.
    pub architecture: String,
}

impl Machine {
    /// Reads the properties of this machine, without its name or its user's.
    #[must_use]
    pub fn look() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self {
            cpu: cpu(&read("/proc/cpuinfo")),
            cores: std::thread::available_parallelism().map_or(0, Into::into),
            memory: memory(&read("/proc/meminfo")),
            kernel: [read("/proc/sys/kernel/ostype").trim(), read("/proc/sys/kernel/osrelease").trim()]
                .join(" "),
            architecture: std::env::consts::ARCH.to_owned(),
        }
    }
}

/// `model name` on x86, `Model` or `Hardware` of the board on ARM.
fn cpu(cpuinfo: &str) -> String {
    let named = |name: &str| {
        let mut pairs = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
    };
    ["model name", "Model", "Hardware"].iter().find_map(|name| named(name)).unwrap_or_default()
}

fn memory(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap_or_default();
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap_or(0);
    kibibytes * 1024
}

/// The arguments of a command, quoted for a shell.
#[must_use]
pub fn shell(words: &[String]) -> String {
    let plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c))
    };
    let quoted = words.iter().map(|word| match plain(word) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_quoted_where_a_shell_needs_it() {
        let cases = [
            (vec![], ""),
            (
                vec!["hayami", "bench", "http://127.0.0.1:8080/a%20b"],
                "hayami bench http://127.0.0.1:8080/a%20b",
            ),
            (vec!["-H", "a: b", ""], "-H 'a: b' ''"),
            (vec!["http://a/?x=1&y=2", "it's"], r"'http://a/?x=1&y=2' 'it'\''s'"),
        ];
        for (words, expected) in cases {
            let words: Vec<_> = words.into_iter().map(str::to_owned).collect();
            assert_eq!(shell(&words), expected);
        }
    }

    #[test]
    fn the_machine_is_read_from_what_the_kernel_says() {
        assert_eq!(cpu("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n"), "Some CPU @ 2 GHz");
        assert_eq!(cpu("processor\t: 0\nModel\t\t: Raspberry Pi 2\n"), "Raspberry Pi 2");
        assert_eq!((cpu(""), memory("")), (String::new(), 0));
        assert_eq!(memory("MemTotal:        4038504 kB\n"), 4_038_504 * 1024);
    }
}
