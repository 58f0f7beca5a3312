//! One scenario under callgrind: which function of this program takes how many instructions.

use crate::scenarios::{Run, Scenario};
use std::collections::BTreeMap;
use std::process::Command;

/// Instructions of each function itself, and calls of the C library (`calls of malloc`), for one time.
pub(crate) type Profile = BTreeMap<String, u64>;

/// What stands in front of a function that is not this program's.
pub(crate) const CALLS: &str = "calls of ";

/// Whether the numbers can be those that were recorded.
///
/// # Errors
/// Why not.
pub(crate) fn comparable() -> Result<(), &'static str> {
    if !cfg!(target_arch = "x86_64") {
        return Err("the numbers are those of x86-64");
    }
    // To a program, valgrind looks like one certain processor with AVX2, or without, whatever the real one is.
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let avx2 = cpu.split_whitespace().any(|flag| flag == "avx2");
    if avx2 { Ok(()) } else { Err("the numbers are those of processors with AVX2") }
}

/// What one time costs: the difference between many times and twice as many, so that neither the start nor the end
/// counts.
///
/// # Errors
/// valgrind is missing or fails.
pub(crate) fn each(scenario: &Scenario) -> Result<Profile, String> {
    let (few, many) = (run(scenario, scenario.times)?, run(scenario, 2 * scenario.times)?);
    let times = u64::from(scenario.times);
    let of = |(name, count): (String, u64)| {
        let more = count.saturating_sub(few.get(&name).copied().unwrap_or(0));
        ((more + times / 2) / times, name)
    };
    Ok(many.into_iter().map(of).filter(|(count, _)| *count > 0).map(|(count, name)| (name, count)).collect())
}

fn run(scenario: &Scenario, times: u32) -> Result<Profile, String> {
    let file = std::env::temp_dir().join(format!("hayami-callgrind-{}", std::process::id()));
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--dump-line=no", "--compress-strings=no", "--compress-pos=no"]);
    valgrind.arg(format!("--callgrind-out-file={}", file.display()));
    let ran = match scenario.run {
        Run::Here(_) => here(valgrind, scenario.name, times),
        Run::Process(run) => run(valgrind, times),
    };
    let text = std::fs::read_to_string(&file);
    let _ = std::fs::remove_file(&file);
    ran.map_err(|error| format!("{}: {error}", scenario.name))?;
    Ok(read(&text.map_err(|error| format!("{}: {error}", file.display()))?))
}

fn here(mut valgrind: Command, name: &str, times: u32) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = valgrind.arg(program).args(["--run", name, &times.to_string()]).output();
    let output = output.map_err(|error| format!("valgrind: {error}; Debian: apt install valgrind"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// Reads callgrind's format: costs below the object and the function that they belong to; a call is a line with its
/// number, and the next with what it cost, which the called function has for itself.
fn read(text: &str) -> Profile {
    let mut profile = Profile::new();
    let command = text.lines().find_map(|line| line.strip_prefix("cmd: ")).unwrap_or_default();
    let program = command.trim().split(' ').next().unwrap_or_default();
    let (mut object, mut function) = ("", "");
    let (mut called_object, mut called, mut is_call) = ("", "", false);
    for line in text.lines() {
        match line.split_once('=') {
            Some(("ob", value)) => object = value,
            Some(("fn", value)) => function = value,
            Some(("cob", value)) => called_object = value,
            Some(("cfn", value)) => called = value,
            Some(("calls", value)) => {
                if object == program && !called_object.is_empty() && called_object != program {
                    let count = value.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
                    *profile.entry(format!("{CALLS}{}", plain(called))).or_default() += count;
                }
                (called_object, is_call) = ("", true);
            }
            None if line.starts_with(|first: char| first.is_ascii_digit()) => {
                let cost = line.rsplit(' ').next().and_then(|cost| cost.parse::<u64>().ok()).unwrap_or(0);
                if !std::mem::take(&mut is_call) && object == program {
                    *profile.entry(plain(function)).or_default() += cost;
                }
            }
            _ => {}
        }
    }
    profile
}

/// What stands in front of the processor's part in a name of the C library: `__memcpy_avx_unaligned_erms`.
const PROCESSORS: [&str; 3] = ["_avx", "_sse", "_evex"];

/// A name without what differs from build to build and from machine to machine: `::h0123456789abcdef`, `.llvm.123`, `'2` of
/// a recursion, the version in the names of AWS-LC, the processor in those of the C library.
fn plain(name: &str) -> String {
    let name = name.split(['\'', '@']).next().unwrap_or(name);
    let name = name.split(".llvm.").next().unwrap_or(name);
    let hash = name.rfind("::h").filter(|at| name.len() - at == 19);
    let name = &name[..hash.unwrap_or(name.len())];
    if let Some(of_aws_lc) = name.strip_prefix("aws_lc_") {
        return of_aws_lc.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_').to_owned();
    }
    let of_c = name.strip_prefix("__").and_then(|name| {
        let end = PROCESSORS.iter().find_map(|processor| name.find(processor))?;
        Some(&name[..end])
    });
    of_c.unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What callgrind writes: `main` calls `parse` (30 with all it calls) and `memcpy` of another object.
    const DUMP: &str = "\
version: 1
cmd: /t/hayami-instructions --run h1 2
events: Ir

ob=/t/hayami-instructions
fl=main.rs
fn=main
0 7
cfn=h1::parse::h0123456789abcdef
calls=2 0
0 30
0 1

fn=h1::parse::h0123456789abcdef
0 10
cob=/lib/libc.so.6
cfi=???
cfn=memcpy@@GLIBC_2.14
calls=3 0
0 20

ob=/lib/libc.so.6
fn=memcpy@@GLIBC_2.14
0 20

totals: 38
";

    #[test]
    fn a_function_counts_its_own_instructions_and_the_c_library_its_calls() {
        let rows = [("calls of memcpy", 3), ("h1::parse", 10), ("main", 8)];
        assert_eq!(read(DUMP), rows.map(|(name, count)| (name.to_owned(), count)).into());
    }

    #[test]
    fn names_are_without_what_differs_from_build_to_build() {
        for (name, same) in [
            ("a::b::h0123456789abcdef", "a::b"),
            ("a::b::h0123456789abcdef'2", "a::b"),
            ("a::b.llvm.1234", "a::b"),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("__memcpy_avx_unaligned_erms", "memcpy"),
            ("__memcmp_avx2_movbe", "memcmp"),
            ("aws_lc_0_47_0_aes_hw_encrypt", "aes_hw_encrypt"),
            ("a::hash", "a::hash"),
        ] {
            assert_eq!(plain(name), same);
        }
    }
}
