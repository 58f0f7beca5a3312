//! The directives of static files.

use super::{CacheSettings, DirSettings, FileSettings, SendCompressed, Settings, Symlinks, custom, mime};
use crate::config::directive::{Directive, Scope, directive};
use crate::config::error::ConfigError;
use crate::config::settings::HandlerSettings;
use crate::config::yaml::Node;
use std::path::PathBuf;

const TYPES: &str =
    "a mapping of media types to extensions: .ext, [.ext, …] or {extensions, is_compressible, priority}";
const COMPRESSED: &str = "ON | OFF | gunzip";

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    directive!(
        "file.dir",
        PATH,
        "a directory",
        "",
        dir,
        "Serves the files below a directory. The rest of the request path after the path's prefix names the \
         file."
    ),
    directive!(
        "file.file",
        PATH,
        "a file",
        "",
        file,
        "Serves one file for every request at or below the path: after a `file.dir`, for example, the page \
         of a single-page application."
    ),
    directive!(
        "file.index",
        GLOBAL_HOST_PATH,
        "a sequence of names",
        "[index.html, index.htm, index.txt]",
        index,
        "Names that are tried in this order when a directory is requested."
    ),
    directive!(
        "file.dirlisting",
        GLOBAL_HOST_PATH,
        "ON | OFF",
        "OFF",
        |scope, node| node.on_off().map(|value| own(scope).dirlisting = value),
        "Lists the files of a directory that has no index. Names that start with a dot are omitted."
    ),
    directive!(
        "file.etag",
        GLOBAL_HOST_PATH,
        "ON | OFF",
        "ON",
        |scope, node| node.on_off().map(|value| own(scope).etag = value),
        "Sends an entity tag, built from the modification time in nanoseconds and the size."
    ),
    directive!(
        "file.send-compressed",
        GLOBAL_HOST_PATH,
        COMPRESSED,
        "OFF",
        send_compressed,
        "Sends NAME.br, NAME.zst or NAME.gz instead of NAME to clients that accept it; when NAME changes, \
         regenerate those files too. With `gunzip`, a NAME.gz without a NAME is also decompressed for \
         clients that do not accept gzip."
    ),
    directive!(
        "file.send-gzip",
        GLOBAL_HOST_PATH,
        COMPRESSED,
        "OFF",
        send_compressed,
        "Deprecated name of `file.send-compressed`."
    ),
    directive!(
        "file.mime.settypes",
        GLOBAL_HOST_PATH,
        TYPES,
        "about 280 built-in types",
        mime::set_types,
        "Replaces the table of media types."
    ),
    directive!(
        "file.mime.addtypes",
        GLOBAL_HOST_PATH,
        TYPES,
        "",
        mime::add_types,
        "Adds entries to the table of media types, or changes the type of an extension."
    ),
    directive!(
        "file.mime.removetypes",
        GLOBAL_HOST_PATH,
        "a sequence of extensions",
        "",
        mime::remove_types,
        "Removes extensions from the table of media types."
    ),
    directive!(
        "file.mime.setdefaulttype",
        GLOBAL_HOST_PATH,
        "a media type",
        "application/octet-stream",
        mime::set_default_type,
        "The media type of files without a known extension."
    ),
    directive!(
        "file.custom-handler",
        GLOBAL_HOST_PATH,
        "a mapping: extension, and directives",
        "",
        custom::set,
        "Directives for files with certain extensions (`extension: .ext`, a sequence, or `default` for all \
         others); they affect only these files, and are applied before those of the path. With \
         `fastcgi.connect` or `fastcgi.spawn` the files are scripts: they are run, and never sent."
    ),
    directive!(
        "file.symlinks",
        GLOBAL_HOST_PATH,
        "follow | within | never",
        "follow",
        symlinks,
        "Which symbolic links below the directory are followed: all, those that lead to files below the \
         directory, or none. Requests for others get 403; targets of links in /proc are never served."
    ),
    directive!(
        "file.cache.revalidate",
        GLOBAL_HOST_PATH,
        "seconds",
        "1",
        |scope, node| node.seconds().map(|value| own(scope).revalidate = value),
        "How long a file is served from the cache before the server checks the disk for changes; 0 checks on \
         every request."
    ),
    directive!(
        "file.cache.max-file-size",
        GLOBAL_HOST_PATH,
        "bytes",
        "64k",
        |scope, node| node.bytes().map(|value| own(scope).max_file_size = value.min(LARGEST_IN_MEMORY)),
        "Files up to this size are cached in memory; for larger files the cache keeps the open file \
         descriptor. At most 16m."
    ),
    directive!(
        "file.cache.max-frequent-file-size",
        GLOBAL_HOST_PATH,
        "bytes",
        "1m",
        |scope, node| {
            node.bytes().map(|value| own(scope).max_frequent_file_size = value.min(LARGEST_IN_MEMORY))
        },
        "Larger files, up to this size, are cached in memory too once they are requested often over TLS or \
         HTTP/2, where that avoids reading them for each response. At most 16m; 0 disables this."
    ),
    directive!(
        "file.cache.size",
        GLOBAL,
        "bytes",
        "64m",
        |scope, node| node.bytes().map(|value| cache(scope).size = value),
        "The memory for cached files, for the whole process; every worker has an equal share."
    ),
    directive!(
        "file.cache.descriptors",
        GLOBAL,
        "a number",
        "1024",
        |scope, node| node.integer(0..=1 << 20).map(|value| cache(scope).descriptors = value),
        "The maximum number of files that the cache keeps open, for the whole process. Never more than a \
         quarter of the open-files limit."
    ),
    directive!(
        "file.io_uring",
        GLOBAL_HOST_PATH,
        "ON | OFF",
        "OFF",
        |_, node| node.on_off().map(drop),
        "Accepted without effect: separate threads read files that are not in memory, and large files are \
         sent with sendfile; io_uring measured no faster."
    ),
];

/// Loading reads a file whole; more than this would block the event loop for too long.
const LARGEST_IN_MEMORY: u64 = 16 << 20;

fn own<'s>(scope: &'s mut Scope<'_>) -> &'s mut Settings {
    scope.inherited.get_mut::<super::Settings>()
}

fn cache<'s>(scope: &'s mut Scope<'_>) -> &'s mut CacheSettings {
    scope.global.get_mut::<super::CacheSettings>()
}

fn path_of(node: &Node, what: &str) -> Result<PathBuf, ConfigError> {
    match node.text()? {
        text if text.is_empty() || text.contains('\0') => Err(node.expected(what)),
        text => Ok(PathBuf::from(text)),
    }
}

fn dir(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let path = path_of(node, "the path of a directory")?;
    scope.add_handler(HandlerSettings::new(DirSettings { path }));
    Ok(())
}

fn file(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let path = path_of(node, "the path of a file")?;
    if path.file_name().is_none() || node.text()?.ends_with('/') {
        return Err(node
            .error(format!("{} is not the name of a file", path.display()))
            .help("to serve a directory, use file.dir"));
    }
    scope.add_handler(HandlerSettings::new(FileSettings { path }));
    Ok(())
}

fn index(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let name = |node: &Node| match node.text()? {
        text if text.contains('\0') || text.split('/').any(|s| matches!(s, "" | "." | "..")) => {
            Err(node.expected("the name of a file in the directory"))
        }
        text => Ok(text.to_owned()),
    };
    own(scope).index = node.one_or_many().into_iter().map(name).collect::<Result<_, _>>()?;
    Ok(())
}

fn send_compressed(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let modes = [SendCompressed::On, SendCompressed::Off, SendCompressed::Gunzip];
    own(scope).send_compressed = modes[node.one_of(&["ON", "OFF", "gunzip"])?];
    Ok(())
}

fn symlinks(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let policies = [Symlinks::Follow, Symlinks::Within, Symlinks::Never];
    own(scope).symlinks = policies[node.one_of(&["follow", "within", "never"])?];
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::directive::Level;
    use crate::modules::test_support::Setting;
    use std::time::Duration;

    fn set(text: &str) -> Result<Setting, String> {
        set_at(Level::Path, text)
    }

    fn set_at(level: Level, text: &str) -> Result<Setting, String> {
        let mut setting = Setting::default();
        setting.set(level, text).map(|()| setting)
    }

    #[test]
    fn plain_settings_are_read() {
        let set = set_at(
            Level::Global,
            "file.index: [a, b.php]\nfile.dirlisting: on\nfile.etag: OFF\nfile.send-gzip: gunzip\n\
                       file.symlinks: within\nfile.cache.revalidate: 0.5\nfile.cache.max-file-size: 1k\n\
                       file.cache.size: 8m\nfile.cache.descriptors: 7\nfile.io_uring: ON\n",
        );
        let set = set.unwrap();
        let file = set.inherited.get::<crate::modules::file::Settings>();
        assert_eq!(file.index, ["a", "b.php"]);
        assert_eq!((file.dirlisting, file.etag), (true, false));
        assert_eq!((file.send_compressed, file.symlinks), (SendCompressed::Gunzip, Symlinks::Within));
        assert_eq!((file.revalidate, file.max_file_size), (Duration::from_millis(500), 1024));
        assert_eq!(
            (
                set.global.get::<crate::modules::file::CacheSettings>().size,
                set.global.get::<crate::modules::file::CacheSettings>().descriptors
            ),
            (8 << 20, 7)
        );
    }

    #[test]
    fn handlers_stand_in_the_order_written() {
        let set = set("file.dir: /srv/www\nfile.file: /srv/app.html\n").unwrap();
        let [dir, file] = &set.handlers[..] else { panic!("{:?}", set.handlers) };
        let (dir, file) = (dir.get::<DirSettings>().unwrap(), file.get::<FileSettings>().unwrap());
        assert_eq!((dir.path.to_str(), file.path.to_str()), (Some("/srv/www"), Some("/srv/app.html")));
    }

    #[test]
    fn media_types_are_read_in_all_forms() {
        let set = set("file.mime.addtypes: {text/x-a: .a, text/x-b: [.b, .BB]}\n\
                       file.mime.removetypes: [.html]\n\
                       file.mime.setdefaulttype: text/plain\n")
        .unwrap();
        let name = |path: &str| {
            set.inherited
                .get::<crate::modules::file::Settings>()
                .mime
                .of_name(path.as_bytes())
                .name
                .to_string()
        };
        assert_eq!(
            ["x.a", "x.bb", "x.html", "x.css"].map(name),
            ["text/x-a", "text/x-b", "text/plain", "text/css"]
        );
        let text =
            "file.mime.settypes: {image/x: {extensions: [.x], is_compressible: YES, priority: highest}}";
        let mime = self::set(text).unwrap().inherited.get::<crate::modules::file::Settings>().mime.clone();
        let media_type = mime.of_name(b"a.x");
        assert_eq!(
            (&*media_type.name, media_type.compressible, media_type.high_priority),
            ("image/x", true, true)
        );
        assert_eq!(&*mime.of_name(b"a.css").name, "application/octet-stream");
    }

    #[test]
    fn errors_say_what_is_expected() {
        let cases = [
            ("file.dir: ''", "the path of a directory"),
            ("file.file: /srv/", "use file.dir"),
            ("file.index: [../b]", "the name of a file in the directory"),
            ("file.mime.addtypes: {text: .a}", "a media type"),
            ("file.mime.addtypes: {text/a: a}", "write `.a`"),
            ("file.mime.addtypes: {text/a: ./a}", "an extension such as `.txt`"),
            ("file.mime.addtypes: {text/a: {is_compressible: YES}}", "`extensions` is missing"),
            ("file.mime.settypes: {text/a: {extensions: .a, colour: red}}", "colour"),
            ("file.send-compressed: maybe", "gunzip"),
            ("file.symlinks: yes", "within"),
            ("file.custom-handler: {header.set: 'a: b'}", "`extension` is missing"),
        ];
        for (text, want) in cases {
            let error = set(text).err().unwrap_or_default();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
