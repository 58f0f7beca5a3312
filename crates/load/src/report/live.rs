//! The live view of a run: a few lines that are redrawn, or a line per second without a terminal.
//!
//! [`View`] turns a [`Progress`] into text without side effects; [`watch`] polls a [`Control`] and writes
//! until the run ends.

use super::bars::{bar as filled, bars};
use super::failures::remedy;
use super::figure::{bytes, duration, grouped, percent, rate};
use super::wrap::wrap;
use crate::plan::{Plan, Until};
use crate::{Causes, Control, Histogram, Phase};
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The redraw interval: short enough to look live, long enough to cost nothing.
const FRAME: Duration = Duration::from_millis(200);

/// Without a terminal, a line this often.
const LINE: Duration = Duration::from_secs(1);

/// Causes of errors that are shown, the most frequent first.
const CAUSES: usize = 3;

/// Bars of the histogram, if the terminal has room for them.
const BARS: usize = 8;

/// The time without a response after which the view reports it.
const SILENCE: Duration = Duration::from_secs(1);

/// How often [`watch`] checks whether the run has ended.
const LOOK: Duration = Duration::from_millis(20);

/// The progress of a run at one moment.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The target's name, with the round if there are several.
    pub name: String,
    /// The current phase.
    pub phase: Phase,
    /// Since the phase began.
    pub elapsed: Duration,
    /// When the phase ends, if that is known.
    pub until: Option<Until>,
    /// Complete answers so far.
    pub responses: u64,
    /// Errors so far.
    pub errors: u64,
    /// Bytes received so far.
    pub bytes_in: u64,
    /// Connections usable now.
    pub connections: u64,
    /// Latencies so far.
    pub latency: Histogram,
    /// Why requests failed so far.
    pub causes: Causes,
}

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Its width.
    pub columns: usize,
    /// Its height.
    pub rows: usize,
}

impl Progress {
    /// The completed share, 0 to 1. `None` where it is unknown.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let share = match self.until? {
            Until::Elapsed(whole) => self.elapsed.as_secs_f64() / whole.as_secs_f64(),
            Until::Requests(whole) => (self.responses + self.errors) as f64 / whole as f64,
        };
        (!share.is_nan()).then(|| share.clamp(0.0, 1.0))
    }

    /// The estimated rest of the phase.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        if let Until::Elapsed(whole) = self.until? {
            return Some(whole.saturating_sub(self.elapsed));
        }
        let share = self.share().filter(|share| *share > 0.0)?;
        Duration::try_from_secs_f64(self.elapsed.as_secs_f64() * (1.0 / share - 1.0)).ok()
    }
}

/// Makes the text of a live view. Keeps the last frame, to redraw it and to compute the current rate.
#[derive(Debug)]
pub struct View {
    /// The terminal's size; `None`: the output is not a terminal.
    screen: Option<Screen>,
    /// Lines drawn that the next frame goes over.
    drawn: usize,
    last: Option<(Phase, Duration, u64)>,
    /// When the number of responses last changed, in which phase, and the number.
    answered: (Phase, Duration, u64),
}

impl View {
    /// A view for a terminal of this size, or for another output.
    #[must_use]
    pub fn new(screen: Option<Screen>) -> Self {
        Self { screen, drawn: 0, last: None, answered: (Phase::Waiting, Duration::ZERO, 0) }
    }

    /// The terminal may have another size now.
    pub fn resize(&mut self, screen: Option<Screen>) {
        self.screen = screen;
    }

    /// How long to wait before the next [`View::frame`].
    #[must_use]
    pub fn pause(&self) -> Duration {
        if self.screen.is_some() { FRAME } else { LINE }
    }

    /// The text that shows this progress: on a terminal it replaces the last frame.
    #[must_use]
    pub fn frame(&mut self, progress: &Progress) -> String {
        let rate = self.rate(progress);
        let silence = self.silence(progress);
        let Some(screen) = self.screen else { return plain(progress, rate, silence) };
        // The cursor is in the row below the frame, and a letter in the last column may take another row.
        let (columns, rows) = (screen.columns.saturating_sub(1).max(1), screen.rows.saturating_sub(1).max(1));
        let mut lines = vec![heading(progress), bar(progress, columns)];
        lines.extend(figures(progress, rate, columns));
        lines.extend(times(progress, columns));
        lines.extend(silence.map(|silence| format!("no response for {}", clock(silence))));
        lines.extend(causes(progress));
        let text: String = lines.iter().map(|line| wrap(line, columns) + "\n").collect();
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        if rows >= lines.len() + BARS {
            lines.extend(bars(&progress.latency, BARS, columns));
        }
        // Lines that scrolled away could not be drawn over.
        lines.truncate(rows);
        let mut out = self.erase();
        for line in &lines {
            out.extend(line.chars().take(columns));
            out.push('\n');
        }
        self.drawn = lines.len();
        out
    }

    /// The time without a response, if there were some before and it is long.
    fn silence(&mut self, progress: &Progress) -> Option<Duration> {
        let (phase, since, responses) = self.answered;
        if (phase, responses) != (progress.phase, progress.responses) {
            self.answered = (progress.phase, progress.elapsed, progress.responses);
            return None;
        }
        let silence = progress.elapsed.saturating_sub(since);
        (responses > 0 && silence >= SILENCE).then_some(silence)
    }

    /// The text that erases the view; the next output takes its place.
    #[must_use]
    pub fn erase(&mut self) -> String {
        match std::mem::take(&mut self.drawn) {
            0 => String::new(),
            // ECMA-48: cursor to the start of the line this many lines up (CPL), erase to the end of the page
            // (ED).
            lines => format!("\x1b[{lines}F\x1b[J"),
        }
    }

    /// Responses per second since the last frame; since the start in the first one of a phase.
    fn rate(&mut self, progress: &Progress) -> f64 {
        let now = (progress.phase, progress.elapsed, progress.responses);
        let (since, before) = match self.last.replace(now) {
            Some((phase, elapsed, responses)) if phase == progress.phase && elapsed < progress.elapsed => {
                (elapsed, responses)
            }
            _ => (Duration::ZERO, 0),
        };
        let rate =
            progress.responses.saturating_sub(before) as f64 / (progress.elapsed - since).as_secs_f64();
        if rate.is_finite() { rate } else { 0.0 }
    }
}

fn phase(progress: &Progress) -> &'static str {
    match progress.phase {
        Phase::Waiting => "connecting",
        Phase::WarmUp => "warming up",
        Phase::Measuring => "measuring",
        Phase::Done => "done",
    }
}

fn left(progress: &Progress) -> String {
    // Rounded up, so that it shows 1 s until the end and never 0 before it.
    progress.left().map_or_else(String::new, |left| format!("{} left", clock(left)))
}

/// `9s`, `2m05s`: whole seconds, for counters.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    if seconds < 100 { format!("{seconds}s") } else { duration(Duration::from_secs(seconds)) }
}

fn heading(progress: &Progress) -> String {
    format!("{}  {}", phase(progress), progress.name)
}

/// `[██████▌     ] 52 %  5s left`, as wide as there is room, in eighths of a column.
fn bar(progress: &Progress, columns: usize) -> String {
    let Some(share) = progress.share() else { return format!("{} so far", clock(progress.elapsed)) };
    let tail = format!(" {:>3.0} %  {}", share * 100.0, left(progress));
    let width = columns.saturating_sub(tail.chars().count() + 2).min(60);
    let done = filled((share * width as f64 * 8.0) as usize);
    format!("[{done:<width$}]{tail}")
}

/// The parts in as many lines as they need, each part whole.
fn in_lines(parts: &[String], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 2 + part.chars().count() <= columns => {
                line.push_str("  ");
                line.push_str(part);
            }
            _ => lines.push(part.clone()),
        }
    }
    lines
}

fn figures(progress: &Progress, now: f64, columns: usize) -> Vec<String> {
    let parts = [
        format!("{:>9}/s", rate(now)),
        format!("{} errors", grouped(progress.errors)),
        format!("{} responses", grouped(progress.responses)),
        bytes(progress.bytes_in as f64),
        format!("{} connections", grouped(progress.connections)),
    ];
    in_lines(&parts, columns)
}

fn times(progress: &Progress, columns: usize) -> Vec<String> {
    if progress.latency.is_empty() {
        return vec!["latency: no response yet".into()];
    }
    let named = [("latency  p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];
    let parts =
        named.map(|(name, quantile)| format!("{name} {:>6}", duration(progress.latency.quantile(quantile))));
    in_lines(&parts, columns)
}

/// `1,200 × connection refused`, and what helps.
fn causes(progress: &Progress) -> Vec<String> {
    let causes = progress.causes.sorted().into_iter().take(CAUSES);
    let line = |cause: crate::Cause| {
        let remedy = remedy(&cause).map(|remedy| format!("; {remedy}")).unwrap_or_default();
        format!("{:>9} × {}{remedy}", grouped(cause.count), cause.text)
    };
    causes.map(line).collect()
}

/// One line for logs and pipes.
fn plain(progress: &Progress, now: f64, silence: Option<Duration>) -> String {
    let done = progress
        .share()
        .map_or_else(String::new, |share| format!(" ({})", percent((share * 100.0).round() / 100.0)));
    let p99 = match progress.latency.is_empty() {
        true => String::new(),
        false => format!(
            ", p50 {}, p99 {}",
            duration(progress.latency.quantile(0.5)),
            duration(progress.latency.quantile(0.99))
        ),
    };
    let cause =
        progress.causes.sorted().first().map(|cause| format!(" ({})", cause.text)).unwrap_or_default();
    let silence = silence.map(|time| format!(", no response for {}", clock(time))).unwrap_or_default();
    format!(
        "{} {}: {}{done}, {}/s, {} responses, {} errors{cause}{p99}{silence}\n",
        phase(progress),
        progress.name,
        duration(progress.elapsed),
        rate(now),
        grouped(progress.responses),
        grouped(progress.errors),
    )
}

/// Shows a run's progress on standard error until it ends. Runs on a separate thread. `name` is the target,
/// with the round if there are several. Write errors are ignored, since they are no reason to stop a run.
pub fn watch(control: &Control, plan: &Plan, name: &str) {
    let stderr = std::io::stderr();
    let mut view = View::new(screen(&stderr));
    let (mut phase, mut began, mut shown) = (control.phase(), Instant::now(), Instant::now());
    loop {
        let now = control.phase();
        if now == Phase::Done {
            break;
        }
        if now != phase {
            (phase, began, shown) = (now, Instant::now(), Instant::now());
        }
        if shown.elapsed() >= view.pause() {
            shown = Instant::now();
            view.resize(screen(&stderr));
            let _ = stderr
                .lock()
                .write_all(view.frame(&look(control, plan, name, phase, began.elapsed())).as_bytes());
        }
        std::thread::sleep(LOOK);
    }
    let _ = stderr.lock().write_all(view.erase().as_bytes());
}

fn look(control: &Control, plan: &Plan, name: &str, phase: Phase, elapsed: Duration) -> Progress {
    let live = &control.live;
    Progress {
        name: name.to_owned(),
        phase,
        elapsed,
        until: match phase {
            Phase::WarmUp => Some(Until::Elapsed(plan.ramp_up + plan.warm_up))
                .filter(|_| !(plan.ramp_up + plan.warm_up).is_zero()),
            Phase::Measuring => Some(plan.until),
            Phase::Waiting | Phase::Done => None,
        },
        responses: live.responses.load(Relaxed),
        errors: live.errors.load(Relaxed),
        bytes_in: live.bytes_in.load(Relaxed),
        connections: live.connections.load(Relaxed),
        latency: live.latency(),
        causes: live.causes(),
    }
}

/// The size of the terminal after an output: the traditional 80 by 24, if unknown. `None`: it is not a
/// terminal.
#[must_use]
pub fn screen(output: &(impl IsTerminal + AsFd)) -> Option<Screen> {
    if !output.is_terminal() {
        return None;
    }
    Some(match rustix::termios::tcgetwinsize(output) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            Screen { columns: size.ws_col.into(), rows: size.ws_row.into() }
        }
        _ => Screen { columns: 80, rows: 24 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(elapsed: u64, responses: u64) -> Progress {
        let mut latency = Histogram::new();
        latency.record_many(1_000_000, responses);
        Progress {
            name: "http://127.0.0.1:8080/".into(),
            phase: Phase::Measuring,
            elapsed: Duration::from_millis(elapsed),
            until: Some(Until::Elapsed(Duration::from_secs(10))),
            responses,
            errors: 3,
            bytes_in: responses * 850,
            connections: 100,
            latency,
            causes: Causes::default(),
        }
    }

    fn terminal(columns: usize, rows: usize) -> View {
        View::new(Some(Screen { columns, rows }))
    }

    fn failing() -> Progress {
        let mut progress = progress(5000, 1_000_000_000);
        progress.causes.add("tls", "the server's certificate has expired", 1_200);
        progress.causes.add("connect", "connection refused", 5);
        progress
    }

    #[test]
    fn a_terminal_is_drawn_over_and_left_clean() {
        let mut view = terminal(80, 8);
        let first = view.frame(&progress(1000, 50_000));
        assert!(!first.contains('\x1b') && first.lines().count() == 4, "{first}");
        let second = view.frame(&progress(2000, 110_000));
        assert!(second.starts_with("\x1b[4F\x1b[J") && second.contains("60,000/s"), "{second}");
        assert_eq!((view.erase().as_str(), view.erase().as_str()), ("\x1b[4F\x1b[J", ""));
    }

    #[test]
    fn no_frame_is_as_wide_or_as_high_as_the_terminal() {
        for columns in [1, 2, 10, 20, 40, 79, 80, 81, 200] {
            for rows in [1, 2, 5, 24] {
                let mut view = terminal(columns, rows);
                let frame = view.frame(&failing());
                assert!(
                    frame.lines().all(|line| line.chars().count() < columns.max(2)),
                    "{columns}: {frame}"
                );
                let lines = frame.matches('\n').count();
                assert!(lines < rows.max(2), "{lines} of {rows} rows: {frame}");
                assert_eq!(view.erase(), format!("\x1b[{lines}F\x1b[J"));
            }
        }
    }

    #[test]
    fn a_frame_has_causes_what_helps_and_a_histogram_and_breaks_lines_at_words() {
        let mut progress = failing();
        progress.latency.record(9_000_000);
        let frame = terminal(50, 30).frame(&progress);
        let want = "    1,200 × the server's certificate has expired;\n      add -k to accept any certificate, or\n      \
                    --cacert FILE to trust its issuer\n        5 × connection refused\n  ≤ 1.";
        assert!(frame.contains(want), "{frame}");
        assert!(frame.lines().any(|line| line.contains("1,000,000,000  █████")), "{frame}");
    }

    #[test]
    fn a_server_that_no_longer_answers_is_told() {
        let mut view = terminal(80, 24);
        assert!(!view.frame(&progress(1000, 50_000)).contains("no response for"));
        assert!(!view.frame(&progress(1900, 50_000)).contains("no response for"));
        assert!(view.frame(&progress(2500, 50_000)).contains("no response for 2s\n"));
        assert!(!view.frame(&progress(3500, 50_001)).contains("no response for"));
        let mut view = View::new(None);
        let _ = view.frame(&progress(1000, 50_000));
        assert!(view.frame(&progress(3000, 50_000)).ends_with(", no response for 2s\n"));
    }

    #[test]
    fn parts_stay_whole_and_take_another_line() {
        let parts = ["abc", "def", "ghi"].map(str::to_owned);
        let cases: [(usize, &[&str]); 4] = [
            (1, &["abc", "def", "ghi"]),
            (7, &["abc", "def", "ghi"]),
            (8, &["abc  def", "ghi"]),
            (13, &["abc  def  ghi"]),
        ];
        for (columns, expected) in cases {
            assert_eq!(in_lines(&parts, columns), expected, "{columns}");
        }
    }

    #[test]
    fn without_a_terminal_there_is_a_plain_line() {
        let line = View::new(None).frame(&progress(5000, 250_000));
        let expected = "measuring http://127.0.0.1:8080/: 5.00s (50.0 %), 50,000/s, 250,000 responses, 3 errors, p50 1.00ms, p99 1.00ms\n";
        assert_eq!(line, expected);
    }

    #[test]
    fn what_is_done_and_what_is_left() {
        let seconds = |seconds| Some(Until::Elapsed(Duration::from_secs(seconds)));
        let cases = [
            (seconds(10), 2500, 0, Some(0.25), Some(7500)),
            (seconds(10), 12_000, 0, Some(1.0), Some(0)),
            (seconds(0), 0, 0, None, Some(0)),
            (Some(Until::Requests(1003)), 1000, 500, Some(503.0 / 1003.0), Some(994)),
            (Some(Until::Requests(0)), 1000, 0, Some(1.0), Some(0)),
            (None, 1000, 5, None, None),
        ];
        for (until, elapsed, responses, share, left) in cases {
            let progress = Progress { until, ..progress(elapsed, responses) };
            assert_eq!(progress.share(), share, "{until:?}");
            assert_eq!(progress.left().map(|left| left.as_millis()), left, "{until:?}");
        }
    }

    #[test]
    fn nothing_yet_is_shown_as_that() {
        let nothing = Progress { until: None, errors: 0, phase: Phase::Waiting, ..progress(0, 0) };
        let frame = terminal(80, 24).frame(&nothing);
        assert!(frame.contains("no response yet") && frame.contains(" 0/s"), "{frame}");
        assert!(View::new(None).frame(&nothing).ends_with(", 0/s, 0 responses, 0 errors\n"));
    }
}
