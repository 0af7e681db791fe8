import { describe, expect, it } from 'vitest';
import { requestLines, responseLines, trailerLines } from '../../../../src/management/proxy/forward/headers.ts';

const kept = ['Accept', 'application/json', 'X-Unknown', 'yes'];

describe('requestLines()', () => {
  // Whoever forgets to refuse one of these before must not hand it on.
  it.each([
    'Impersonate-User',
    'impersonate-group',
    'Impersonate_Extra_a',
    'X-Remote-User',
    'x_remote_group',
    'X-Forwarded-For',
    'Authorization',
    'Cookie',
    'Forwarded',
    'Host',
    'HTTP2-Settings',
    'Proxy-Authorization',
    'Transfer-Encoding',
    'Upgrade',
  ])('hands no %s on', (name) => {
    expect(requestLines(['Accept', 'application/json', name, 'x', 'X-Unknown', 'yes'])).toEqual(kept);
  });

  it('keeps repeated lines repeated, and drops what Connection names', () => {
    const lines = ['Connection', 'close, X-Named', 'X-Named', 'a', 'X-Twice', 'a', 'X-Twice', 'b'];
    expect(requestLines(lines)).toEqual(['X-Twice', 'a', 'X-Twice', 'b']);
  });

  it('takes the credential out of the protocols, and a header that then names none', () => {
    const bearer = 'base64url.bearer.authorization.k8s.io.YQ';
    const named = ['Sec-WebSocket-Protocol', 'v5.channel.k8s.io'];
    expect(requestLines(['Sec-WebSocket-Protocol', `${bearer}, v5.channel.k8s.io`])).toEqual(named);
    expect(requestLines(['Sec-WebSocket-Protocol', bearer])).toEqual([]);
    expect(requestLines(named)).toEqual(named);
  });
});

describe('responseLines() and trailerLines()', () => {
  it('keep back what would lead the client past this server', () => {
    const lines = ['Set-Cookie', 'a=b', 'Alt-Svc', 'h2', 'WWW-Authenticate', 'Basic', 'Content-Type', 'text/plain'];
    expect(responseLines(lines)).toEqual(['Content-Type', 'text/plain']);
    expect(trailerLines([...lines, 'X-Checksum', 'abc'])).toEqual(['X-Checksum', 'abc']);
  });

  it.each([
    'Alt-Svc',
    'Audit-Id',
    'Clear-Site-Data',
    'Connection',
    'Refresh',
    'Set-Cookie',
    'set_cookie2',
    'Strict-Transport-Security',
    'Transfer-Encoding',
    'WWW-Authenticate',
  ])('hand no %s on', (name) => {
    expect(responseLines(['Accept', 'application/json', name, 'x', 'X-Unknown', 'yes'])).toEqual(kept);
    expect(trailerLines(['Accept', 'application/json', name, 'x', 'X-Unknown', 'yes'])).toEqual(kept);
  });

  it.each([
    'Authorization',
    'Cache-Control',
    'Content-Encoding',
    'Content-Length',
    'Content-Range',
    'Content_Type',
    'Location',
    'Trailer',
  ])('hand no %s on behind a body', (name) => {
    expect(trailerLines(['Accept', 'application/json', name, 'x', 'X-Unknown', 'yes'])).toEqual(kept);
  });
});
