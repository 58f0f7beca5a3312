//! When each staple is fetched, and how failures are handled.

use super::request::{cert_id, request};
use super::response::{Checked, check};
use super::settings::{Settings, Source};
use super::subject::Subject;
use super::{Staple, command, http};
use crate::resumption::alive::{Alive, Signal};
use crate::resumption::clock::unix_now;
use crate::resumption::{Report, Severity};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The retry interval while there is no staple, in seconds.
const SOON: u64 = 600;
/// How often a file is checked, in seconds.
const LOOK: u64 = 60;
/// The shortest time between two attempts, in seconds.
const SHORTEST: u64 = 60;

/// A staple to keep fresh.
#[derive(Clone, Debug)]
pub struct Job {
    /// For messages, and for the command.
    pub certificate_file: PathBuf,
    /// The chain (DER): the certificate, then its issuer's.
    pub chain: Vec<Vec<u8>>,
    /// The staple to keep fresh.
    pub staple: Arc<Staple>,
    /// How.
    pub settings: Settings,
}

/// Keeps staples fresh on its own threads until it is dropped.
#[derive(Debug)]
pub struct Fetcher {
    _alive: Alive,
}

impl Fetcher {
    /// Starts at most `updaters` threads for these staples (h2o's `num-ocsp-updaters`, 10): after the last
    /// fork and after privileges were dropped. The first staples arrive a moment later; those from files are
    /// ready when this returns. `report` receives each failure once.
    pub fn start(jobs: Vec<Job>, updaters: usize, report: &Report) -> Self {
        let alive = Alive::default();
        let mut tasks: Vec<Task> = jobs.into_iter().filter_map(Task::new).collect();
        tasks.iter_mut().filter(|task| task.is_file()).for_each(|task| task.run(unix_now(), report));
        let threads = updaters.clamp(1, tasks.len().max(1));
        let mut shares: Vec<Vec<Task>> = (0..threads).map(|_| Vec::new()).collect();
        for (index, task) in tasks.into_iter().enumerate() {
            shares[index % threads].push(task);
        }
        for share in shares.into_iter().filter(|share| !share.is_empty()) {
            let (signal, report) = (alive.signal(), report.clone());
            let thread = std::thread::Builder::new().name("ocsp".into());
            // Without threads there are no staples, and a machine without threads has bigger problems.
            let _ = thread.spawn(move || work(share, &signal, &report));
        }
        Self { _alive: alive }
    }
}

fn work(mut tasks: Vec<Task>, signal: &Signal, report: &Report) {
    loop {
        for task in &mut tasks {
            if task.due <= unix_now() && !signal.is_over() {
                task.run(unix_now(), report);
            }
        }
        let Some(due) = tasks.iter().map(|task| task.due).min() else { return };
        // At least a second; an hour at most, since clocks can be changed.
        let time = due.saturating_sub(unix_now()).clamp(1, 3600);
        if !signal.wait(Duration::from_secs(time)) {
            return;
        }
    }
}

/// A job and its progress.
#[derive(Debug)]
pub(super) struct Task {
    job: Job,
    /// When it is due, in seconds since 1970.
    pub(super) due: u64,
    failures: u32,
    /// Until when the staple is valid.
    until: Option<u64>,
    /// The last message, which is not repeated.
    said: Option<String>,
}

impl Task {
    /// `None`: this certificate needs no fetching.
    pub(super) fn new(job: Job) -> Option<Self> {
        let is_file = matches!(job.settings.source, Source::File(_));
        let is_off = job.settings.interval == 0 && !is_file;
        // Many authorities no longer run responders, so their certificates name none.
        let has_none = job.settings.source == Source::Responder
            && job.chain.first().and_then(|leaf| Subject::read(leaf)?.responder).is_none();
        let task = Self { job, due: 0, failures: 0, until: None, said: None };
        (!is_off && !has_none).then_some(task)
    }

    fn is_file(&self) -> bool {
        matches!(self.job.settings.source, Source::File(_))
    }

    /// One attempt.
    pub(super) fn run(&mut self, now: u64, report: &Report) {
        let fetched = self.fetch().and_then(|der| match check(&der, &self.job.chain, now) {
            Ok(checked) => Ok((der, checked)),
            Err(why) => Err(why.to_owned()),
        });
        match fetched {
            Ok((der, checked)) => self.succeed(der, checked, now, report),
            Err(why) => self.fail(&why, now, report),
        }
    }

    fn fetch(&self) -> Result<Vec<u8>, String> {
        match &self.job.settings.source {
            Source::File(path) => std::fs::read(path).map_err(|e| e.to_string()),
            Source::Command(program) => command::run(program, &self.job.certificate_file),
            Source::Responder => self.ask(),
        }
    }

    fn ask(&self) -> Result<Vec<u8>, String> {
        let read = |index: usize| self.job.chain.get(index).and_then(|der| Subject::read(der));
        let (Some(certificate), Some(issuer)) = (read(0), read(1)) else {
            return Err("the file has no certificate of the issuer: append it".into());
        };
        if certificate.issuer != issuer.name {
            return Err("the second certificate in the file is not the issuer's of the first".into());
        }
        let url = certificate.responder.ok_or("the certificate names no responder")?;
        http::post(url, &request(&cert_id(&certificate, &issuer)))
    }

    fn succeed(&mut self, der: Vec<u8>, checked: Checked, now: u64, report: &Report) {
        if self.job.staple.current().is_none_or(|old| *old != der) {
            self.job.staple.set(Some(der));
        }
        (self.failures, self.until) = (0, checked.next_update);
        self.due = now + self.next_attempt(now);
        let file = self.job.certificate_file.display();
        if checked.is_revoked {
            let line =
                format!("the certificate in {file} is revoked according to its OCSP responder: replace it");
            self.say(line, report);
        } else if self.said.take().is_some() {
            report(Severity::Notice, format!("OCSP: {file} has a response again"));
        }
    }

    fn fail(&mut self, why: &str, now: u64, report: &Report) {
        self.failures += 1;
        let is_over = self.until.is_some_and(|until| until < now);
        let has_staple = self.job.staple.current().is_some();
        if has_staple && (is_over || self.failures >= self.job.settings.max_failures.max(1)) {
            self.job.staple.set(None);
        }
        let left = self.job.staple.current().is_some();
        self.due = now + if left { self.next_attempt(now) } else { self.interval().min(SOON) };
        let state = if left { "the previous response stays" } else { "none is stapled" };
        let (source, file) = (self.source(), self.job.certificate_file.display());
        self.say(format!("OCSP: no response for {file} from {source}: {why}; {state}"), report);
    }

    fn say(&mut self, line: String, report: &Report) {
        if self.said.as_ref() != Some(&line) {
            report(Severity::Warn, line.clone());
        }
        self.said = Some(line);
    }

    fn source(&self) -> String {
        match &self.job.settings.source {
            Source::File(path) | Source::Command(path) => path.display().to_string(),
            Source::Responder => {
                let certificate = self.job.chain.first().and_then(|leaf| Subject::read(leaf));
                certificate.and_then(|certificate| certificate.responder).unwrap_or("nowhere").to_owned()
            }
        }
    }

    fn interval(&self) -> u64 {
        if self.is_file() { LOOK } else { u64::from(self.job.settings.interval) }
    }

    /// The interval plus or minus a tenth, so that many servers don't query at the same moment. No later than
    /// half of the response's validity, so that there is time for retries.
    fn next_attempt(&self, now: u64) -> u64 {
        let interval = self.interval();
        let span = interval / 5;
        let jitter = if span == 0 { 0 } else { chance() % span };
        let wanted = interval - interval / 10 + jitter;
        let good = self.until.map_or(u64::MAX, |until| until.saturating_sub(now));
        wanted.min((good / 2).max(SHORTEST))
    }
}

fn chance() -> u64 {
    let mut bytes = [0; 8];
    // Without randomness there is no jitter.
    let _ = aws_lc_rs::rand::fill(&mut bytes);
    u64::from_ne_bytes(bytes)
}
