//! A run: one target, loaded by as many workers as the plan has threads.

use crate::Tally;
use crate::clock::now;
use crate::connection::Failure;
use crate::control::{Control, Phase};
use crate::outcome::{Death, Ended, Outcome};
use crate::plan::{Plan, Until};
use crate::worker::job::Job;
use crate::worker::{Done, Share, Times, Worker};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, SystemTime};

/// How long the run waits for an event before it checks its state.
const LOOK: Duration = Duration::from_millis(50);

/// Loads the target of that index, and returns the outcome. Blocks; `control` can stop it early, and shows
/// its progress.
///
/// # Errors
/// A part of the plan is impossible; the error is a line for the user. An unreachable or broken server is not
/// an error but a result.
///
/// # Panics
/// If the plan has no target of that index.
pub fn run(plan: &Plan, target: usize, control: &Control) -> Result<Outcome, String> {
    let job = Job::new(plan, &plan.targets[target])?;
    let threads = plan.threads.clamp(1, plan.connections.max(1));
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 4);
    let unmeasured = nanos(plan.ramp_up) + nanos(plan.warm_up);
    control.enter(if unmeasured == 0 { Phase::Measuring } else { Phase::WarmUp });
    let start = now();
    let measure = start + unmeasured;
    let end = match plan.until {
        Until::Elapsed(time) => Some(measure + nanos(time)),
        Until::Requests(_) => None,
    };
    let times = Times { start, ramp_up: nanos(plan.ramp_up), measure, end };
    let shares: Vec<Share> = (0..threads).map(|index| share(plan, index, threads)).collect();
    let (started, done) = work(&job, &shares, control, times);
    let done = done?;
    control.enter(Phase::Done);
    let ended = done.iter().map(|done| done.ended).max().unwrap_or(measure);
    let mut tally = Tally::default();
    done.iter().for_each(|done| tally.merge(&done.tally));
    let death = death(&done, measure, ended);
    let stopped = control.is_stopped() && end.is_none_or(|end| ended < end);
    Ok(Outcome {
        target,
        started,
        elapsed: Duration::from_nanos(ended.saturating_sub(measure)),
        tally,
        generator_cpu: done.iter().map(|done| done.cpu).sum(),
        threads,
        server: None,
        room: None,
        ended: if stopped { Ended::Interrupted } else { Ended::Complete },
        death,
    })
}

/// The time without a response after a refused connection, in nanoseconds, after which the server counts as
/// dead.
const GONE: u64 = 50_000_000;

/// The time without a response, in nanoseconds, that counts as silence; three times the longest latency if
/// that is more.
const SILENCE: u64 = 1_000_000_000;

/// Whether the server stopped answering before the run ended at `ended`.
fn death(done: &[Done], measure: u64, ended: u64) -> Option<Death> {
    let last = done.iter().map(|done| done.last_response).max().filter(|last| *last > 0)?;
    let failures = done.iter().filter_map(|done| done.last_failure.as_ref());
    let failure = failures.filter(|failure| failure.at > last).max_by_key(|failure| failure.at);
    let is_pending = failure.is_some() || done.iter().any(|done| done.unanswered > 0);
    let slowest = done.iter().map(|done| done.tally.latency.max()).max().unwrap_or_default();
    let patience = match failure {
        Some(failure) if failure.failure == Failure::Connect => GONE,
        _ => SILENCE.max(3 * u64::try_from(slowest.as_nanos()).unwrap_or(u64::MAX / 3)),
    };
    (is_pending && ended.saturating_sub(last) > patience).then(|| Death {
        at: Duration::from_nanos(last.saturating_sub(measure)),
        cause: failure.map(|failure| failure.why.clone()),
    })
}

/// Runs the workers, each on a thread, and announces when measuring begins. Returns the wall-clock time of
/// that.
fn work(
    job: &Job,
    shares: &[Share],
    control: &Control,
    times: Times,
) -> (SystemTime, Result<Vec<Done>, String>) {
    let mut started = SystemTime::now();
    let (sender, results) = channel();
    let result = thread::scope(|scope| {
        for share in shares {
            let sender = sender.clone();
            let work = move || Worker::new(job, control, *share, times)?.run();
            let thread = thread::Builder::new().name("load".into());
            thread
                // The run waits for all of them, so there is a receiver.
                .spawn_scoped(scope, move || drop(sender.send(work())))
                .map_err(|error| format!("cannot start a thread: {error}"))
                .inspect_err(|_| control.stop())?;
        }
        drop(sender);
        let mut done = Vec::new();
        wait(&results, control, times, &mut done, &mut started);
        done.into_iter()
            .collect::<Result<Vec<Done>, _>>()
            .map_err(|error| format!("cannot watch connections: {error}"))
    });
    (started, result)
}

fn wait(
    results: &Receiver<std::io::Result<Done>>,
    control: &Control,
    times: Times,
    done: &mut Vec<std::io::Result<Done>>,
    started: &mut SystemTime,
) {
    loop {
        let ahead = Duration::from_nanos(times.measure.saturating_sub(now()));
        if control.phase() == Phase::WarmUp && ahead.is_zero() {
            *started = SystemTime::now();
            control.enter(Phase::Measuring);
        }
        let patience = if ahead.is_zero() { Duration::from_secs(1) } else { ahead.min(LOOK) };
        match results.recv_timeout(patience) {
            Ok(result) => done.push(result),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// A worker's share; the remainder goes to the first ones.
fn share(plan: &Plan, index: usize, of: usize) -> Share {
    let part = |all: u64| all / of as u64 + u64::from((index as u64) < all % of as u64);
    let connections = part(plan.connections as u64) as usize;
    Share {
        index,
        of,
        connections,
        requests: match plan.until {
            Until::Elapsed(_) => None,
            Until::Requests(requests) => Some(part(requests)),
        },
        rate: plan.rate.map(|rate| rate * connections as f64 / plan.connections as f64),
    }
}
