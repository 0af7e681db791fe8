import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { makeServingCertificate } from '../../../src/apiserver/tls/certificates.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { startShop } from '../shop/shop-of-test.ts';
import { collection, openShop, type Shop, widget } from '../shop/widgets.ts';

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

describe('certificates in files', () => {
  const folder = () => {
    const made = mkdtempSync(join(tmpdir(), 'hostward-door-'));
    folders.push(made);
    return { certificate: join(made, 'tls.crt'), key: join(made, 'tls.key') };
  };
  const newPair = (name: string) => makeServingCertificate(name, ['localhost'], new Date());
  const served = (shop: Shop): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect({ port: shop.server.port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      });
      socket.on('error', reject);
    });

  it('are reloaded after a complete change; half a change has no effect', async () => {
    const files = folder();
    const [first, second] = [await newPair('first'), await newPair('second')];
    writeFileSync(files.certificate, first.certPem);
    writeFileSync(files.key, first.keyPem);
    const clock = new VirtualClock();
    const shop = await startShop({ tls: { files }, clock });
    expect(await served(shop)).toBe('first');
    const timers = clock.pendingTimers;
    const look = async () => {
      await clock.advance(10_000);
      while (clock.pendingTimers < timers) await new Promise((resolve) => setImmediate(resolve));
    };
    writeFileSync(files.certificate, second.certPem);
    await look();
    expect(await served(shop)).toBe('first');
    writeFileSync(files.key, second.keyPem);
    await look();
    expect(await served(shop)).toBe('second');
  });

  it('that do not match stop the server from starting', async () => {
    const files = folder();
    writeFileSync(files.certificate, (await newPair('one')).certPem);
    writeFileSync(files.key, (await newPair('other')).keyPem);
    await expect(openShop({ tls: { files } })).rejects.toThrow(/tls.key": wanted the key of .*, found another$/);
  });
});

describe('a malformed request', () => {
  const raw = (shop: Shop, text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connectPlain(shop.server.port, '127.0.0.1', () => socket.write(text));
      let answer = '';
      socket.on('data', (bytes) => {
        answer += bytes.toString();
      });
      socket.on('close', () => resolve(answer));
      socket.on('error', reject);
    });
  const bodyOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as Record<string, unknown>;

  it('with headers over the limit gets 431 with a Status; headers under the limit are fine', async () => {
    const shop = await startShop({ maxHeaderBytes: 16 * 1024 });
    const headers = (bytes: number) => ({ 'x-filler': 'x'.repeat(bytes) });
    expect((await shop.call('GET', collection, undefined, headers(15 * 1024))).status).toBe(200);
    const answer = await raw(shop, `GET / HTTP/1.1\r\nHost: x\r\nX-Filler: ${'x'.repeat(17 * 1024)}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
    expect(bodyOf(answer)).toMatchObject({
      kind: 'Status',
      code: 431,
      message: expect.stringContaining('16384 bytes'),
    });
  });

  it('with headers over the limit gets 431 also on a connection that has served other requests', async () => {
    const shop = await startShop({ maxHeaderBytes: 16 * 1024 });
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connectPlain(shop.server.port, '127.0.0.1', () =>
        socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'),
      );
      let text = '';
      socket.on('data', (bytes) => {
        const isFirst = text === '';
        text += bytes.toString();
        if (isFirst) socket.write(`GET / HTTP/1.1\r\nHost: x\r\nX-Filler: ${'x'.repeat(17 * 1024)}\r\n\r\n`);
      });
      socket.on('close', () => resolve(text));
      socket.on('error', reject);
    });
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 431']);
  });

  it('that is not HTTP gets 400 with a Status', async () => {
    const shop = await startShop();
    const answer = await raw(shop, 'HELLO\r\n\r\n');
    expect(bodyOf(answer)).toMatchObject({ kind: 'Status', code: 400, reason: 'BadRequest' });
  });

  it('with a body in an encoding that is no encoding gets 400 with a Status, and nothing behind it', async () => {
    const shop = await startShop();
    const encoding = 'Transfer-Encoding: xchunked';
    for (const path of ['/healthz', collection]) {
      const answer = await raw(shop, `POST ${path} HTTP/1.1\r\nHost: x\r\n${encoding}\r\n\r\n{}`);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(bodyOf(answer)).toMatchObject({ kind: 'Status', code: 400, message: expect.stringContaining('chunked') });
    }
  });

  it('that is a CONNECT or expects too much gets a Status too', async () => {
    const shop = await startShop();
    const connecting = await raw(shop, 'CONNECT localhost:22 HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(bodyOf(connecting)).toMatchObject({ kind: 'Status', code: 405, reason: 'MethodNotAllowed' });
    const halfOpen = connectPlain({ port: shop.server.port, host: '127.0.0.1', allowHalfOpen: true });
    // A write to a socket that is closed there breaks the connection.
    const broken = new Promise((closed) => halfOpen.once('error', closed));
    halfOpen.write('CONNECT localhost:22 HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise((ended) => halfOpen.resume().once('end', ended));
    const writes = setInterval(() => halfOpen.write('x'), 5);
    await broken;
    clearInterval(writes);
    const expecting = await raw(shop, 'POST / HTTP/1.1\r\nHost: x\r\nExpect: 200-maybe\r\nContent-Length: 2\r\n\r\n{}');
    expect(bodyOf(expecting)).toMatchObject({ kind: 'Status', code: 417, message: expect.stringContaining('Expect') });
  });
});

describe('Expect: 100-continue', () => {
  const body = JSON.stringify(widget('asked-first'));
  const head = (token: string) =>
    `POST ${collection} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nAuthorization: Bearer ${token}\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`;
  /** Sends the body when it is asked for, as clients do. */
  const asking = (shop: Shop, text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connectPlain(shop.server.port, '127.0.0.1', () => socket.write(text));
      let answer = '';
      socket.on('data', (bytes) => {
        answer += bytes.toString();
        if (answer.endsWith('100 Continue\r\n\r\n')) socket.write(body);
      });
      socket.on('close', () => resolve(answer));
      socket.on('error', reject);
    });

  it('of a stranger is refused, and no body is asked for', async () => {
    const shop = await startShop();
    const answer = await asking(shop, head('wrong'));
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).not.toContain('100 Continue');
    expect(answer).toMatch(/connection: close/i);
  });

  it('of somebody who may send gets 100 and then the answer, once', async () => {
    const shop = await startShop();
    const answer = await asking(shop, head('owner-token'));
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 201']);
  });

  it('with a body that is too long for the server is refused before the body', async () => {
    const shop = await startShop();
    const longest = head('owner-token').replace(/Content-Length: \d+/, 'Content-Length: 99999999');
    const answer = await asking(shop, longest);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413']);
  });
});

describe('failed logins', () => {
  it('are reported to the tenant, who may answer 429; correct credentials still pass', async () => {
    const failures: string[] = [];
    const shop = await startShop({
      failedLogin: (source) => {
        failures.push(source);
        return failures.length > 2 ? 7 : undefined;
      },
    });
    const wrong = () => shop.call('GET', collection, undefined, { authorization: 'Bearer wrong' });
    expect([(await wrong()).status, (await wrong()).status]).toEqual([401, 401]);
    const limited = await wrong();
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '7']);
    expect((await shop.call('GET', collection)).status).toBe(200);
    expect(failures).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.1']);
  });
});
