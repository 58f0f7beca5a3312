//! Names from the configurations of other servers, and what they are called here.

/// Name elsewhere, and what to write here.
const FOREIGN: &[(&str, &str)] = &[
    ("access_log", "`access-log`"),
    ("add_header", "`header.add`"),
    ("alias", "`file.dir` in a path"),
    ("autoindex", "`file.dirlisting`"),
    ("client_body_timeout", "`http1-request-io-timeout`"),
    ("client_header_timeout", "`http1-request-timeout`"),
    ("client_max_body_size", "`limit-request-body`"),
    ("DocumentRoot", "`file.dir` in a path"),
    ("error_log", "`error-log`"),
    ("error_page", "`error-doc`"),
    ("events", "`num-threads` and `max-connections`"),
    ("fastcgi_pass", "`fastcgi.connect`, in `file.custom-handler`"),
    ("gzip_static", "`file.send-compressed`"),
    ("http", "the top of the file: there is no level around the sites"),
    ("include", "`!file conf.d/*.conf`, as a value"),
    ("index", "`file.index`"),
    ("keepalive_timeout", "`http1-request-timeout`"),
    ("large_client_header_buffers", "`limit-request-head`"),
    ("Listen", "`listen`"),
    ("location", "`paths` in a host"),
    ("open_file_cache", "nothing: files are always kept open"),
    ("pid", "`pid-file`"),
    ("return", "`redirect` in a path"),
    ("rewrite", "`redirect` in a path"),
    ("root", "`file.dir` in a path"),
    ("sendfile", "nothing: large files always leave that way"),
    ("server", "`hosts`"),
    ("server_name", "the name of a host, below `hosts`"),
    ("server_tokens", "`send-server-name`"),
    ("tcp_nodelay", "nothing: it is always on"),
    ("tcp_nopush", "nothing: head and content always leave together"),
    ("try_files", "`try-files`"),
    ("types", "`file.mime.settypes`"),
    ("worker_connections", "`max-connections`"),
    ("worker_cpu_affinity", "`num-threads` with a sequence of CPUs"),
    ("worker_processes", "`num-threads`"),
];

/// What `name` of another server is called here.
pub(super) fn here(name: &str) -> Option<&'static str> {
    FOREIGN.iter().find(|(foreign, _)| *foreign == name).map(|(_, here)| *here)
}
