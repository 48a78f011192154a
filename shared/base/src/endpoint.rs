//! Where a request goes, as far as two names of one place must look alike.

/// Host and port of a URL, without user and password, and without what says nothing: the port of its scheme and the dot at the end of a
/// name. `None` for an odd one.
pub fn host(url: &str) -> Option<String> {
    let (scheme, rest) = url.trim().split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let usual = match scheme.to_ascii_lowercase().as_str() {
        "https" => ":443",
        "http" => ":80",
        _ => "",
    };
    let host = host.strip_suffix(usual).unwrap_or(host);
    let host = host.strip_suffix('.').unwrap_or(host);
    let plain = |b: u8| b.is_ascii_alphanumeric() || b".-_:[]".contains(&b);
    (!host.is_empty() && host.len() <= 255 && host.bytes().all(plain)).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_names_of_one_place_look_alike() {
        for (url, is) in [
            ("https://a.example/v1", Some("a.example")),
            ("https://A.example:443/v1", Some("a.example")),
            ("http://u:p@a.example.:80", Some("a.example")),
            ("http://a.example:443", Some("a.example:443")),
            ("https://a.example:8443", Some("a.example:8443")),
            ("http://[::1]:80/v1", Some("[::1]")),
            ("https://.", None),
            ("https://:443/", None),
            ("a.example", None),
        ] {
            assert_eq!(host(url).as_deref(), is, "{url}");
        }
    }
}
