//! Resolves the names of all upstreams at startup, in parallel and with a time limit. A name that cannot be resolved
//! does not delay the start; `watch` retries it.

use super::names;
use super::settings::{Endpoint, Settings, Upstream};
use crate::config::error::ConfigError;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// How long startup waits for all names together: name servers that are up answer sooner, and those that are down
/// must not hold up a boot.
const PATIENCE: Duration = Duration::from_secs(5);

/// Resolver threads.
const THREADS: usize = 32;

/// The names to resolve.
struct Names {
    /// Index of the group, index of the upstream in it, and the upstream.
    wanted: Vec<(usize, usize, Upstream)>,
    resolver: Vec<SocketAddr>,
    next: AtomicUsize,
}

type Answer = (usize, io::Result<Vec<Endpoint>>);

/// Resolves the names of all upstreams, within a few seconds. Returns a warning for each name that could not be
/// resolved.
pub fn look_up_names(settings: &mut Settings) -> Vec<ConfigError> {
    look_up(settings, PATIENCE)
}

fn look_up(settings: &mut Settings, patience: Duration) -> Vec<ConfigError> {
    let names = Arc::new(Names {
        wanted: wanted(settings),
        resolver: settings.resolver.clone(),
        next: AtomicUsize::new(0),
    });
    let mut results: Vec<_> = names.wanted.iter().map(|_| None).collect();
    for (at, result) in ask_for_all(&names, patience) {
        results[at] = Some(result);
    }
    let mut warnings = Vec::new();
    for ((group, entry, upstream), result) in names.wanted.iter().zip(results) {
        match result.unwrap_or_else(|| Err(late(patience))) {
            Ok(found) => settings.groups[*group].upstreams[*entry].found = found,
            Err(error) => warnings.push(warning(upstream, &error)),
        }
    }
    warnings
}

fn wanted(settings: &Settings) -> Vec<(usize, usize, Upstream)> {
    let groups = settings.groups.iter().enumerate();
    let all = groups.flat_map(|(group, own)| {
        own.upstreams.iter().enumerate().map(move |(entry, upstream)| (group, entry, upstream))
    });
    let names = all.filter(|(.., upstream)| !upstream.down && names::may_change(upstream));
    names.map(|(group, entry, upstream)| (group, entry, upstream.clone())).collect()
}

/// The results that arrive in time. Threads still blocked after that are detached and end by themselves.
fn ask_for_all(names: &Arc<Names>, patience: Duration) -> Vec<Answer> {
    let until = Instant::now() + patience;
    let (tell, told) = channel();
    for _ in 0..names.wanted.len().min(THREADS) {
        let (names, tell) = (Arc::clone(names), tell.clone());
        // If a thread cannot be started, the others take its share, or the names count as late.
        let _ = std::thread::Builder::new().name("names".into()).spawn(move || names.ask(&tell));
    }
    drop(tell);
    let next = || told.recv_timeout(until.saturating_duration_since(Instant::now())).ok();
    std::iter::from_fn(next).collect()
}

impl Names {
    fn ask(&self, tell: &Sender<Answer>) {
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some((.., upstream)) = self.wanted.get(at) else { return };
            // The receiver is gone once startup continues.
            if tell.send((at, names::resolve(upstream, &self.resolver))).is_err() {
                return;
            }
        }
    }
}

fn late(patience: Duration) -> io::Error {
    let seconds = patience.as_secs_f32();
    io::Error::new(io::ErrorKind::TimedOut, format!("temporary failure: no answer within {seconds} s"))
}

fn warning(upstream: &Upstream, error: &io::Error) -> ConfigError {
    let message = format!("cannot resolve the host name of `{}`: {error}", upstream.url);
    ConfigError::new(upstream.at, message).help(
        "the server starts without this upstream and keeps trying to resolve its name; correct the name, or \
         add it to /etc/hosts",
    )
}

#[cfg(test)]
mod tests {
    use super::super::settings::Group;
    use super::*;
    use crate::config::yaml::{Node, Position};
    use crate::modules::proxy::Url;
    use std::net::UdpSocket;

    fn settings(urls: &[&str], resolver: SocketAddr) -> Settings {
        let upstream = |url: &&str| {
            let node = Node::scalar(url);
            super::super::read::located(&node, Upstream::new(Url::read(&node).expect("a URL"), Vec::new()))
        };
        let upstreams = urls.iter().map(upstream).collect::<Result<_, _>>().expect("they can be names");
        let groups = vec![Group::new(Position::default(), upstreams)];
        Settings { groups, resolver: vec![resolver] }
    }

    #[test]
    fn silent_name_servers_hold_up_the_start_for_a_moment_only() {
        let silent = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let names: Vec<_> = (0..100).map(|number| format!("http://a{number}.test")).collect();
        let mut urls: Vec<_> = names.iter().map(String::as_str).collect();
        urls.push("http://127.0.0.1:1");
        let mut settings = settings(&urls, silent.local_addr().expect("bound"));
        let began = Instant::now();
        let warnings = look_up(&mut settings, Duration::from_millis(100));
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        assert_eq!(warnings.len(), 100);
        assert!(
            warnings[99].message.starts_with("cannot resolve the host name of `http://a99.test`:"),
            "{warnings:?}"
        );
        assert!(warnings[99].message.ends_with("temporary failure: no answer within 0.1 s"), "{warnings:?}");
        let found = settings.groups[0].upstreams.iter().map(|own| own.found.len());
        assert_eq!(found.collect::<Vec<_>>(), [vec![0; 100], vec![1]].concat());
    }
}
