//! From the command line to a [`Plan`]: applies this machine's defaults, reads files, resolves names.

use super::args::{Args, Http, Switch, Tls};
use super::reach::{address, reason};
use crate::exit::Failure;
use hayami_load::Plan;
use hayami_load::plan::{
    Address, Distance, Expect, Line, Protocol, RequestTemplate, Target, TlsOptions, TlsVersions, Until, Url,
    Weighted, What, read_list,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Enough to keep a server busy, few enough for any limit of open files.
const CONNECTIONS: u64 = 64;

/// The plan of this command line.
///
/// # Errors
/// A line about the file, host or option that is wrong.
pub(super) fn plan(args: &Args) -> Result<Plan, Failure> {
    let targets = targets(args)?;
    sources_fit(args, &targets)?;
    let several = targets.len() > 1;
    let default = Duration::from_secs(if several { 3 } else { 10 });
    let duration = args.duration.unwrap_or(default);
    let until = args.requests.map_or(Until::Elapsed(duration), Until::Requests);
    let warm_up = match until {
        Until::Elapsed(duration) => (duration / 10).min(Duration::from_secs(1)),
        Until::Requests(_) => Duration::ZERO,
    };
    let connections =
        args.connections.unwrap_or_else(|| CONNECTIONS.min(args.requests.unwrap_or(CONNECTIONS)));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    if until == Until::Elapsed(Duration::ZERO) || args.timeout.is_zero() {
        return Err(usage("--duration and --timeout must be longer than 0"));
    }
    Ok(Plan {
        connections: connections as usize,
        threads: args.threads.unwrap_or(cpus).min(connections) as usize,
        streams: args.streams as usize,
        pipeline: args.pipeline as usize,
        until,
        warm_up: args.warm_up.unwrap_or(warm_up),
        ramp_up: args.ramp_up,
        rate: args.rate,
        protocol: protocol(args, &targets)?,
        keep_alive: args.keepalive,
        expect: expect(args)?,
        distance: args.rtt.map(|rtt| Distance { rtt, jitter: args.jitter, loss: args.loss }),
        tls: tls(args)?,
        sources: args.source.clone(),
        timeout: args.timeout,
        rounds: args.rounds.unwrap_or(if several { 5 } else { 1 }) as usize,
        targets,
    })
}

fn usage(text: impl Into<String>) -> Failure {
    Failure::Usage(text.into())
}

fn protocol(args: &Args, targets: &[Target]) -> Result<Protocol, Failure> {
    let secure = targets.iter().any(|target| target.secure);
    let protocol = match args.http {
        _ if args.h2c && secure => {
            return Err(usage("--h2c is HTTP/2 without TLS; for https:// write --http 2"));
        }
        _ if args.h2c => Protocol::Http2,
        None => Protocol::Auto,
        Some(Http::Http10) => Protocol::Http10,
        Some(Http::Http11) => Protocol::Http11,
        Some(Http::Http2) => Protocol::Http2,
    };
    let one = matches!(protocol, Protocol::Http10 | Protocol::Http11);
    let plain_one = one || (protocol == Protocol::Auto && !secure);
    if args.streams > 1 && plain_one {
        return Err(usage("-m requires HTTP/2: add --http 2 (also without TLS), or use -p"));
    }
    if args.pipeline > 1 && protocol == Protocol::Http10 {
        return Err(usage("-p requires HTTP/1.1: HTTP/1.0 has no pipelining"));
    }
    if args.pipeline > 1 && protocol == Protocol::Http2 {
        return Err(usage("-p is for HTTP/1.1; for HTTP/2 use -m"));
    }
    Ok(protocol)
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::NoInput(format!("{}: {}", path.display(), reason(&error))))
}

fn expect(args: &Args) -> Result<Expect, Failure> {
    let body = args.expect_body.as_deref().map(read).transpose()?;
    let status = args.expect_status.as_ref().map(|statuses| statuses.0.clone()).unwrap_or_default();
    Ok(Expect { status, length: args.expect_length, body: body.map(Arc::from) })
}

fn tls(args: &Args) -> Result<TlsOptions, Failure> {
    for file in [&args.cacert, &args.cert, &args.key].into_iter().flatten() {
        read(file)?;
    }
    let versions = match args.tls {
        None => TlsVersions::Both,
        Some(Tls::Tls12) => TlsVersions::Only12,
        Some(Tls::Tls13) => TlsVersions::Only13,
    };
    let ciphers: Vec<_> = args.ciphers.iter().flat_map(|names| names.0.iter().copied()).collect();
    let options = TlsOptions {
        verify: !args.insecure,
        roots: args.cacert.clone(),
        resume: args.tls_resume == Switch::On,
        identity: args.cert.clone().zip(args.key.clone()),
        versions,
        ciphers,
        groups: args.groups.as_ref().map(|names| names.0.clone()).unwrap_or_default(),
    };
    match options.unused_cipher() {
        Some(name) => Err(usage(format!("--ciphers {name} belongs to a TLS version that --tls excludes"))),
        None => Ok(options),
    }
}

/// A source address can reach only addresses of its family, and must belong to this machine.
fn sources_fit(args: &Args, targets: &[Target]) -> Result<(), Failure> {
    for source in &args.source {
        let fits = |target: &Target| match &target.address {
            Address::Tcp(address) => address.is_ipv4() == source.is_ipv4(),
            Address::Unix(_) => false,
        };
        if let Some(target) = targets.iter().find(|target| !fits(target)) {
            return Err(usage(format!(
                "--source {source} cannot reach {}: it is of another address family",
                target.name
            )));
        }
        std::net::UdpSocket::bind((*source, 0)).map_err(|_| {
            usage(format!("--source {source} is not an address of this machine; `ip address` lists them"))
        })?;
    }
    Ok(())
}

fn targets(args: &Args) -> Result<Vec<Target>, Failure> {
    let list = match &args.urls {
        Some(path) => {
            let text = String::from_utf8_lossy(&read(path)?).into_owned();
            read_list(&text).map_err(|error| usage(format!("{}: {error}", path.display())))?
        }
        None => Vec::new(),
    };
    let urls: Vec<(String, Url)> = match args.url.is_empty() {
        true => vec![first_of(&list)?],
        false => {
            let parse = |text: &String| Url::parse(text).map(|url| (text.clone(), url)).map_err(usage);
            args.url.iter().map(parse).collect::<Result<_, _>>()?
        }
    };
    if args.unix.is_some() && urls.len() > 1 {
        return Err(usage("--unix takes one URL; to compare servers, write unix:SOCKET:/PATH for each"));
    }
    if !args.server_pid.is_empty() && args.server_pid.len() != urls.len() {
        return Err(usage(format!("--server-pid needs one process for each URL: {} in all", urls.len())));
    }
    urls.into_iter().map(|(name, url)| target(args, name, &url, &list)).collect()
}

/// The target when only a list names it.
fn first_of(list: &[Line]) -> Result<(String, Url), Failure> {
    let url = list.iter().find_map(|line| match &line.what {
        What::Url(url) => Some(url.clone()),
        What::Path(_) => None,
    });
    let url = url.ok_or_else(|| usage("the list has only paths; give the server's URL as well"))?;
    let scheme = if url.secure { "https" } else { "http" };
    Ok((format!("{scheme}://{}/", url.authority()), url))
}

fn target(args: &Args, name: String, url: &Url, list: &[Line]) -> Result<Target, Failure> {
    // Errors in the request are reported before any connection is made.
    let requests = requests(args, url, list)?;
    let address = address(args.connect_to.as_deref(), args.unix.as_deref(), url)?;
    Ok(Target { name, address, secure: url.secure, host: url.host.clone(), requests })
}

fn requests(args: &Args, url: &Url, list: &[Line]) -> Result<Vec<Weighted>, Failure> {
    let (authority, fields) = fields(args, url)?;
    let body: Option<Arc<[u8]>> = match (&args.body_text, &args.body) {
        (Some(text), _) => Some(text.as_bytes().into()),
        (None, file) => file.as_deref().map(read).transpose()?.map(Arc::from),
    };
    let default = if body.is_some() { "POST" } else { "GET" };
    let request = |method: Option<&String>, target: &str| RequestTemplate {
        method: method.or(args.method.as_ref()).map_or(default, String::as_str).to_owned(),
        target: target.to_owned(),
        authority: authority.clone(),
        fields: fields.clone(),
        body: body.clone(),
    };
    if list.is_empty() {
        return Ok(vec![Weighted { weight: 1.0, request: request(None, &url.target) }]);
    }
    let weighted = |line: &Line| {
        let request = request(line.method.as_ref(), request_of(line, url)?);
        Ok(Weighted { weight: line.weight, request })
    };
    list.iter().map(weighted).collect()
}

/// A line of the list as a request to this server.
fn request_of<'a>(line: &'a Line, url: &Url) -> Result<&'a str, Failure> {
    match &line.what {
        What::Path(path) => Ok(path),
        What::Url(own) if own.same_server(url) => Ok(&own.target),
        What::Url(own) => Err(usage(format!(
            "the list also names {}; to compare servers, give their URLs on the command line and only paths in the list",
            own.authority()
        ))),
    }
}

/// The authority, and the fields that are sent as they are.
fn fields(args: &Args, url: &Url) -> Result<(String, Vec<(String, String)>), Failure> {
    let mut authority = url.authority();
    let mut fields = Vec::new();
    for (name, value) in &args.header {
        match name.to_ascii_lowercase().as_str() {
            "host" => authority.clone_from(value),
            "connection" | "keep-alive" => {
                return Err(usage(format!("-H '{name}: …' is not supported; use --keepalive on, off or N")));
            }
            "content-length" | "transfer-encoding" => {
                return Err(usage(format!("-H '{name}: …' is set from --body; leave it out")));
            }
            _ => fields.push((name.clone(), value.clone())),
        }
    }
    fields.extend(args.content_type.iter().map(|kind| ("Content-Type".to_owned(), kind.clone())));
    Ok((authority, fields))
}

#[cfg(test)]
mod tests {
    use super::super::args::tests::parsed;
    use super::*;
    use hayami_load::plan::KeepAlive;
    use std::net::TcpListener;

    fn planned(line: &str) -> Result<Plan, String> {
        let (args, _) = parsed(line)?;
        plan(&args).map_err(|failure| failure.to_string())
    }

    /// An address with a listener.
    fn here() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        (listener, url)
    }

    #[test]
    fn the_machine_and_the_number_of_urls_set_the_defaults() {
        let (_keep, url) = here();
        let plan = planned(&url).expect("a plan");
        assert_eq!(
            (plan.connections, plan.rounds, plan.until),
            (64, 1, Until::Elapsed(Duration::from_secs(10)))
        );
        assert_eq!((plan.warm_up, plan.keep_alive), (Duration::from_secs(1), KeepAlive::On));
        assert!(plan.threads >= 1 && plan.distance.is_none() && plan.tls.verify);
        let plan = planned(&format!("{url} {url}")).expect("a plan");
        assert_eq!(
            (plan.targets.len(), plan.rounds, plan.until),
            (2, 5, Until::Elapsed(Duration::from_secs(3)))
        );
        let plan = planned(&format!("-n 5 -t 9 {url}")).expect("a plan");
        assert_eq!((plan.connections, plan.threads, plan.warm_up), (5, 5, Duration::ZERO));
    }

    #[test]
    fn a_request_is_what_the_options_say() {
        let (_keep, url) = here();
        let plan = planned(&format!("-H 'Host: b' -H 'X: y' -X PURGE {url}/a?b")).expect("a plan");
        let request = &plan.targets[0].requests[0].request;
        assert_eq!(
            (request.method.as_str(), request.target.as_str(), request.authority.as_str()),
            ("PURGE", "/a?b", "b")
        );
        assert_eq!((request.fields.len(), &request.body), (1, &None));
        let plan = planned(&format!("--body /dev/null -T text/plain {url}")).expect("a plan");
        let request = &plan.targets[0].requests[0].request;
        assert_eq!((request.method.as_str(), request.body.as_deref()), ("POST", Some(&[][..])));
        assert_eq!(request.fields, [("Content-Type".to_owned(), "text/plain".to_owned())]);
        let plan = planned(&format!("--body-text 'a b' -T text/plain -X PUT {url}")).expect("a plan");
        let request = &plan.targets[0].requests[0].request;
        assert_eq!((request.method.as_str(), request.body.as_deref()), ("PUT", Some(&b"a b"[..])));
    }

    #[test]
    fn options_that_do_not_fit_each_other_are_refused() {
        let (_keep, url) = here();
        for (line, words) in [
            ("-m 5 URL", "add --http 2"),
            ("-p 5 --http 1.0 URL", "no pipelining"),
            ("-p 5 --http 2 URL", "use -m"),
            ("-d 0 URL", "longer than 0"),
            ("-H 'Connection: close' URL", "--keepalive"),
            ("-H 'Content-Length: 5' URL", "--body"),
            ("--body /no/such/file URL", "/no/such/file: no such file"),
            ("--urls /no/such/file URL", "/no/such/file"),
            ("--cacert /no/such/file URL", "/no/such/file"),
            ("--urls /dev/null URL", "no URL found"),
            ("--unix /tmp/x URL URL", "unix:SOCKET"),
            ("--server-pid 1,2 URL", "for each URL: 1"),
            ("--tls 1.2 --ciphers TLS_AES_128_GCM_SHA256 URL", "--tls excludes"),
            ("--source 192.0.2.1 URL", "not an address of this machine"),
            ("--source ::1 URL", "another address family"),
            ("ftp://a/", "http://"),
        ] {
            let error = planned(&line.replace("URL", &url)).map(|_| ()).expect_err(line);
            assert!(error.contains(words), "{line}: {error}");
        }
    }

    #[test]
    fn nobody_listening_is_said_before_anything_is_measured() {
        let (listener, url) = here();
        drop(listener);
        let error = planned(&url).map(|_| ()).expect_err("no listener");
        assert!(error.contains("connection refused") && error.contains("start the server"), "{error}");
        let error = planned("--unix /no/such.sock http://a/").map(|_| ()).expect_err("no listener");
        assert!(error.contains("/no/such.sock"), "{error}");
    }
}
