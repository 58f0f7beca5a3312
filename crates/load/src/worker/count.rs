//! The counts of a worker, and its reports to observers.

use crate::connection::{Failure, InFlight, Wrong};
use crate::control::{Control, Phase};
use crate::{Causes, Histogram, Sample, Slot, Statuses, Tally, TlsSpoken};
use hayami_http::ResponseHead;
use std::sync::atomic::Ordering::Relaxed;

/// A worker's counts. Events before measuring begins are counted too, and then discarded.
#[derive(Debug)]
pub(crate) struct Count {
    pub(crate) tally: Tally,
    /// Latencies since the last report; the tally gets them then.
    recent: Histogram,
    /// Connections that are usable now.
    pub(crate) usable: u64,
    reported: Reported,
    /// When measuring began; `None`: not yet.
    began: Option<u64>,
    /// Why requests failed since the last report.
    recent_causes: Causes,
    recent_unexpected: Statuses,
    /// When the last response came, measured or before; 0: none.
    pub(crate) last_response: u64,
    pub(crate) last_failure: Option<LastFailure>,
}

/// The latest failure, which shows why a server died.
#[derive(Clone, Debug)]
pub(crate) struct LastFailure {
    pub(crate) at: u64,
    pub(crate) failure: Failure,
    pub(crate) why: String,
}

/// The state last reported to observers.
#[derive(Clone, Copy, Debug, Default)]
struct Reported {
    responses: u64,
    errors: u64,
    bytes_in: u64,
    usable: u64,
    /// The time of the report, in nanoseconds since measuring began.
    at: u64,
}

impl Count {
    pub(crate) fn new(open_model: bool) -> Self {
        let tally = Tally { uncorrected: open_model.then(Histogram::default), ..Tally::default() };
        Self {
            tally,
            recent: Histogram::default(),
            usable: 0,
            reported: Reported::default(),
            began: None,
            recent_causes: Causes::default(),
            recent_unexpected: Statuses::default(),
            last_response: 0,
            last_failure: None,
        }
    }

    /// Measuring begins.
    pub(crate) fn begin(&mut self, now: u64) {
        let (usable, reported) = (self.usable, self.reported.usable);
        let connect_before = std::mem::take(&mut self.tally.connect);
        let last_response = self.last_response;
        *self = Self::new(self.tally.uncorrected.is_some());
        self.tally.connect_before = connect_before;
        self.last_response = last_response;
        (self.usable, self.reported.usable, self.began) = (usable, reported, Some(now));
    }

    pub(crate) fn is_measuring(&self) -> bool {
        self.began.is_some()
    }

    /// A response is complete.
    #[inline]
    pub(crate) fn answered(&mut self, request: &InFlight, now: u64) {
        let tally = &mut self.tally;
        self.recent.record(now.saturating_sub(request.due));
        if let Some(uncorrected) = &mut tally.uncorrected {
            uncorrected.record(now.saturating_sub(request.sent));
        }
        tally.first_byte.record(request.first.saturating_sub(request.sent));
        self.last_response = now;
        tally.statuses.add(request.status, 1);
        tally.responses += 1;
        tally.bytes_content += request.content;
        match request.wrong {
            Wrong::No => {}
            Wrong::Status => {
                tally.errors.status += 1;
                self.recent_unexpected.add(request.status, 1);
            }
            Wrong::Content => self.wrong_content("the content differs from the expected content"),
            Wrong::Length => self.wrong_content("the content's length is not the expected one"),
        }
        if request.is_sample
            && let Some(sample) = &mut self.tally.sample
        {
            sample.content = request.content;
        }
    }

    #[cold]
    fn wrong_content(&mut self, why: &'static str) {
        self.tally.errors.content += 1;
        self.tally.causes.add("content", why, 1);
        self.recent_causes.add("content", why, 1);
    }

    /// This many requests, or attempts to connect, have failed.
    #[cold]
    pub(crate) fn failed(&mut self, failure: Failure, why: &str, count: u64, now: u64) {
        if count == 0 {
            return;
        }
        *failure.count_in(&mut self.tally.errors) += count;
        if failure == Failure::Lost {
            return; // as the plan wants it
        }
        self.tally.causes.add(failure.name(), why, count);
        self.recent_causes.add(failure.name(), why, count);
        let last = self.last_failure.get_or_insert(LastFailure { at: now, failure, why: String::new() });
        (last.at, last.failure) = (now, failure);
        last.why.clear();
        last.why.push_str(why);
    }

    /// Keeps a response head, to show the server's fields.
    #[cold]
    pub(crate) fn keep_sample(&mut self, protocol: &str, tls: Option<TlsSpoken>, head: &ResponseHead) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        self.tally.sample = Some(Sample {
            protocol: protocol.into(),
            tls,
            status: head.status().code(),
            fields: head.iter().map(|(name, value)| (text(name).to_ascii_lowercase(), text(value))).collect(),
            content: 0,
        });
    }

    /// Reports new counts to observers. Call it some times a second.
    pub(crate) fn report(&mut self, control: &Control, now: u64) {
        let (live, tally, reported) = (&control.live, &mut self.tally, &mut self.reported);
        live.connections.fetch_add(self.usable.wrapping_sub(reported.usable), Relaxed);
        reported.usable = self.usable;
        self.recent_unexpected
            .iter()
            .for_each(|(code, count)| self.recent_causes.add_unexpected(code, count));
        self.recent_unexpected.clear();
        if !self.recent_causes.is_empty() {
            live.add_causes(&self.recent_causes);
            self.recent_causes.clear();
        }
        let Some(began) = self.began else { return };
        let errors = tally.errors.total();
        let at = now.saturating_sub(began);
        let slot = Slot {
            responses: tally.responses - reported.responses,
            errors: errors - reported.errors,
            bytes: tally.bytes_in - reported.bytes_in,
            latency: (self.recent.mean().as_nanos() as u64).saturating_mul(self.recent.count()),
            longest: self.recent.max().as_nanos() as u64,
        };
        tally.timeline.add_over(reported.at, at, &slot);
        tally.latency.merge(&self.recent);
        if control.phase() == Phase::Measuring {
            live.responses.fetch_add(tally.responses - reported.responses, Relaxed);
            live.errors.fetch_add(errors - reported.errors, Relaxed);
            live.bytes_in.fetch_add(tally.bytes_in - reported.bytes_in, Relaxed);
            live.add_latency(&self.recent);
        }
        self.recent.clear();
        let (responses, bytes_in) = (tally.responses, tally.bytes_in);
        *reported = Reported { responses, errors, bytes_in, usable: reported.usable, at };
    }

    /// The last report.
    pub(crate) fn end(mut self, control: &Control, now: u64) -> Tally {
        self.usable = 0;
        self.report(control, now);
        self.tally
    }
}
