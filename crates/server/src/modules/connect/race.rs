//! The first of several addresses that takes a connection (RFC 8305, happy eyeballs).

use hayami_net::dial::Peer;
use hayami_net::upstream::{Dialing, Outbound, Tunnel, dial};
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// How patient a race is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// How long one address has before the next is tried beside it.
    pub(super) delay: Duration,
    /// How long each of them has in all.
    pub(super) connect: Duration,
    /// How long nothing may move in the tunnel.
    pub(super) idle: Duration,
}

/// Addresses in the order in which they are tried: families in turns, the resolver's favorite first (RFC 8305 §4).
pub(super) fn in_turns(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (favorites, others): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|a| a.is_ipv6() == first);
    let (mut favorites, mut others) = (favorites.into_iter(), others.into_iter());
    let mut ordered = Vec::new();
    loop {
        let pair = [favorites.next(), others.next()];
        if pair == [None, None] {
            return ordered;
        }
        ordered.extend(pair.into_iter().flatten());
    }
}

/// Connects to the address that answers first; the others are given up.
///
/// # Errors
/// Why the last of them did not.
pub(super) async fn run(
    outbound: &Outbound,
    addresses: Vec<SocketAddr>,
    patience: Patience,
) -> io::Result<(SocketAddr, Tunnel)> {
    let mut race = Race { running: Vec::new(), failure: io::ErrorKind::NotFound.into() };
    let mut waiting = addresses.into_iter();
    let mut pause = pin!(sleep_until(Instant::now()));
    poll_fn(move |cx| {
        loop {
            let (failed, won) = race.poll(cx);
            if let Some(won) = won {
                return Poll::Ready(Ok(won));
            }
            let due = failed || race.running.is_empty() || pause.as_mut().poll(cx).is_ready();
            match waiting.as_slice().is_empty() {
                false if due => {}
                true if race.running.is_empty() => return Poll::Ready(Err(race.take_failure())),
                _ => return Poll::Pending,
            }
            if let Some(address) = waiting.next() {
                race.start(dial(outbound, &Peer::Tcp(address), patience.connect, patience.idle), address);
                pause.as_mut().reset(Instant::now() + patience.delay);
            }
        }
    })
    .await
}

/// The connections that are being made.
struct Race {
    running: Vec<(SocketAddr, Dialing)>,
    failure: io::Error,
}

impl Race {
    fn start(&mut self, dialing: io::Result<Dialing>, address: SocketAddr) {
        match dialing {
            Ok(dialing) => self.running.push((address, dialing)),
            Err(error) => self.failure = error,
        }
    }

    /// Whether one has failed, and the one that has won.
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
                (*failure, failed) = (error, true);
                false
            }
        });
        (failed, won)
    }

    fn take_failure(&mut self) -> io::Error {
        std::mem::replace(&mut self.failure, io::ErrorKind::NotFound.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_take_turns_from_the_resolvers_favorite_on() {
        let cases: [(&[&str], &[&str]); 4] = [
            (&[], &[]),
            (
                &["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1"],
                &["[::1]:1", "1.1.1.1:1", "[::2]:1", "[::3]:1"],
            ),
            (&["1.1.1.1:1", "1.1.1.2:1", "[::1]:1"], &["1.1.1.1:1", "[::1]:1", "1.1.1.2:1"]),
            (&["1.1.1.1:1", "1.1.1.2:1"], &["1.1.1.1:1", "1.1.1.2:1"]),
        ];
        let parse = |list: &[&str]| list.iter().map(|a| a.parse().expect("an address")).collect::<Vec<_>>();
        for (addresses, want) in cases {
            assert_eq!(in_turns(parse(addresses)), parse(want));
        }
    }
}
