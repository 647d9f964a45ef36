//! One HTTP exchange over a blocking connection: as much of the protocol as clients of models use.

use std::io::{self, BufRead, BufReader, Read, Write};

/// The largest head and the largest body of a request.
const HEAD_LIMIT_BYTES: u64 = 64 * 1024;
const BODY_LIMIT_BYTES: u64 = 64 * 1024 * 1024;

/// A request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    /// With its query.
    pub(crate) target: String,
    pub(crate) body: Vec<u8>,
}

/// How a body is delimited.
enum BodyLength {
    Known(u64),
    Chunked,
}

/// Reads the next request; `None` when the client has closed the connection.
pub(crate) fn read_request(
    reader: &mut BufReader<impl Read>,
    client: &mut impl Write,
) -> io::Result<Option<HttpRequest>> {
    let mut head = reader.by_ref().take(HEAD_LIMIT_BYTES);
    let mut line = String::new();
    if head.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(invalid("the request line is not HTTP"));
    };
    let mut length = BodyLength::Known(0);
    let mut continues = false;
    loop {
        let mut line = String::new();
        if head.read_line(&mut line)? == 0 {
            return Err(invalid("the head of a request is incomplete or too long"));
        }
        let Some((name, value)) = line.split_once(':') else { break };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {
                length = BodyLength::Known(value.parse().map_err(|_| invalid("invalid content-length"))?);
            }
            "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => length = BodyLength::Chunked,
            "expect" => continues = true,
            _ => {}
        }
    }
    if continues {
        client.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let body = match length {
        BodyLength::Known(bytes) => read_exactly(reader, bytes)?,
        BodyLength::Chunked => read_chunks(reader)?,
    };
    Ok(Some(HttpRequest { method, target, body }))
}

/// Writes a reply and keeps the connection open.
pub(crate) fn write_reply(client: &mut impl Write, status: u16, kind: &str, body: &[u8]) -> io::Result<()> {
    let reason = if status == 200 { "OK" } else { "Bad Request" };
    let length = body.len();
    let mut reply =
        format!("HTTP/1.1 {status} {reason}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n").into_bytes();
    reply.extend_from_slice(body);
    client.write_all(&reply)?;
    client.flush()
}

fn read_exactly(reader: &mut impl Read, bytes: u64) -> io::Result<Vec<u8>> {
    if bytes > BODY_LIMIT_BYTES {
        return Err(invalid("the body of a request is too long"));
    }
    let mut body = Vec::new();
    reader.take(bytes).read_to_end(&mut body)?;
    if body.len() as u64 == bytes { Ok(body) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.by_ref().take(HEAD_LIMIT_BYTES).read_line(&mut line)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| invalid("invalid chunk size"))?;
        if body.len() as u64 + size > BODY_LIMIT_BYTES {
            return Err(invalid("the body of a request is too long"));
        }
        body.extend(read_exactly(reader, size)?);
        let mut end = String::new();
        reader.by_ref().take(HEAD_LIMIT_BYTES).read_line(&mut end)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (io::Result<Option<HttpRequest>>, String) {
        let mut said = Vec::new();
        let request = read_request(&mut BufReader::new(text.as_bytes()), &mut said);
        (request, String::from_utf8(said).unwrap())
    }

    #[test]
    fn a_body_is_read_by_its_length_or_in_chunks() {
        let wanted = HttpRequest { method: "POST".into(), target: "/v1/x?a=b".into(), body: b"hello".to_vec() };
        let by_length = "POST /v1/x?a=b HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello";
        let (request, said) = read(by_length);
        assert_eq!(request.unwrap().unwrap(), wanted);
        assert_eq!(said, "HTTP/1.1 100 Continue\r\n\r\n");
        let chunked = "POST /v1/x?a=b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x\r\nllo\r\n0\r\n\r\n";
        assert_eq!(read(chunked).0.unwrap().unwrap(), wanted);
        assert_eq!(read("").0.unwrap(), None);
    }

    #[test]
    fn what_is_not_a_request_is_an_error() {
        for text in [
            "x\r\n\r\n",
            "GET / HTTP/1.1\r\ncontent-length: many\r\n\r\n",
            "GET / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n",
            "GET / HTTP/1.1\r\ncontent-length: 5\r\n\r\nhel",
            "GET / HTTP/1.1\r\n",
        ] {
            assert!(read(text).0.is_err(), "{text}");
        }
    }
}
