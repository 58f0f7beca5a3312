//! Connects to the first of several addresses that accepts (RFC 8305, happy eyeballs).

use super::candidates::{Candidates, Next};
use super::status::Failure;
use hayami_client::{Dialing, Tunnel, dial};
use hayami_net::dial::Peer;
use hayami_net::upstream_io::UpstreamIo;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// The timeouts of a race.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// The head start of one address before the next is tried in parallel.
    pub(super) delay: Duration,
    /// Limit for each attempt, and for the name lookup.
    pub(super) connect: Duration,
    /// How long the tunnel may be idle.
    pub(super) idle: Duration,
}

/// Connects to the candidate that accepts first; the other attempts are dropped.
///
/// # Errors
/// Why no candidate accepted.
pub(super) async fn run(
    outbound: &UpstreamIo,
    mut candidates: Candidates<'_>,
    patience: Patience,
) -> Result<(SocketAddr, Tunnel), Failure> {
    let mut race = Race { running: Vec::new(), failure: None };
    let (mut pause, mut lookup) =
        (pin!(sleep_until(Instant::now())), pin!(sleep_until(Instant::now() + patience.connect)));
    poll_fn(move |cx| {
        loop {
            let (failed, won) = race.poll(cx);
            if let Some(won) = won {
                return Poll::Ready(Ok(won));
            }
            if !(failed || race.running.is_empty() || pause.as_mut().poll(cx).is_ready()) {
                return Poll::Pending;
            }
            match candidates.poll_next(cx) {
                Next::Address(address) => {
                    race.start(dial(outbound, &Peer::Tcp(address), patience.connect, patience.idle), address);
                    pause.as_mut().reset(Instant::now() + patience.delay);
                }
                Next::Pending | Next::End if !race.running.is_empty() => return Poll::Pending,
                Next::Pending => {
                    return lookup.as_mut().poll(cx).map(|()| Err(Failure::LookupTimeout));
                }
                Next::End => return Poll::Ready(Err(race.failure(&mut candidates))),
            }
        }
    })
    .await
}

/// The connection attempts in progress.
struct Race {
    running: Vec<(SocketAddr, Dialing)>,
    /// Why the most recent failed attempt did.
    failure: Option<io::Error>,
}

impl Race {
    fn start(&mut self, dialing: io::Result<Dialing>, address: SocketAddr) {
        match dialing {
            Ok(dialing) => self.running.push((address, dialing)),
            Err(error) => self.failure = Some(error),
        }
    }

    /// Returns whether an attempt failed, and the one that succeeded.
    fn poll(&mut self, cx: &mut Context<'_>) -> (bool, Option<(SocketAddr, Tunnel)>) {
        let (mut failed, mut won) = (false, None);
        let failure = &mut self.failure;
        self.running.retain_mut(|(address, dialing)| match Pin::new(dialing).poll(cx) {
            Poll::Pending => true,
            Poll::Ready(Ok(tunnel)) => {
                won.get_or_insert((*address, tunnel));
                false
            }
            Poll::Ready(Err(error)) => {
                (*failure, failed) = (Some(error), true);
                false
            }
        });
        (failed, won)
    }

    /// Why there is no connection, once the candidates are exhausted.
    fn failure(&mut self, candidates: &mut Candidates<'_>) -> Failure {
        match self.failure.take() {
            Some(error) => Failure::Unreachable(error),
            None if candidates.has_denied() => Failure::Denied,
            None => Failure::Unknown(candidates.take_failure()),
        }
    }
}
