//! Where a request goes, as far as two names of one place must look alike.

/// Host and port of a URL, without user and password. `None` for an odd one.
pub fn host(url: &str) -> Option<String> {
    let rest = url.trim().split_once("://")?.1;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b".-_:[]".contains(&b);
    (!host.is_empty() && host.len() <= 255 && host.bytes().all(plain)).then(|| host.to_ascii_lowercase())
}
