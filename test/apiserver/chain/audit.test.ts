import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Audit, AuditedRequest } from '../../../src/apiserver/kinds/kit.ts';
import { StatusFault } from '../../../src/apiserver/request/status-fault.ts';
import { createLog } from '../../../src/log.ts';
import { serviceUnavailable } from '../../../src/object/meta/status.ts';
import { startShop } from '../shop/shop-of-test.ts';
import { collection, widget } from '../shop/widgets.ts';

describe('an audit', () => {
  it('records a request before it is carried out and before it is answered, and can stop the request', async () => {
    const heard: string[] = [];
    let isBlocked = false;
    const audit = {
      begins: ({ target, user }: AuditedRequest) => {
        heard.push(`${user?.name} begins ${target.verb}`);
        if (isBlocked) throw new StatusFault(serviceUnavailable('nowhere to write it down'));
      },
      ends: ({ target }: AuditedRequest, code: number) => void heard.push(`${target.verb} ends ${code}`),
    };
    const shop = await startShop({ audit });
    await shop.call('POST', collection, widget('a'));
    await shop.call('POST', collection, widget('a'));
    isBlocked = true;
    expect((await shop.call('DELETE', `${collection}/a`)).status).toBe(503);
    isBlocked = false;
    expect((await shop.call('GET', `${collection}/a`)).status).toBe(200);
    expect(heard.slice(0, 6)).toEqual([
      'owner begins create',
      'create ends 201',
      'owner begins create',
      'create ends 409',
      'owner begins delete',
      'delete ends 503',
    ]);
  });

  // Each way ended as an internal error, with a stack in the log: a client could fill the log by hanging up.
  it.each([
    ['in the middle of its body', 'Content-Length: 1000\r\n\r\n{"metadata"', true],
    ['between two chunks', 'Transfer-Encoding: chunked\r\n\r\n5\r\n{"met\r\n', true],
    ['with a chunk of no size', 'Transfer-Encoding: chunked\r\n\r\n5\r\n{"met\r\nno size\r\n', false],
  ])('records a request that breaks off %s as the mistake of its client', async (_, rest, hangsUp) => {
    const codes: number[] = [];
    const lines: string[] = [];
    const log = createLog({ level: 'info', destination: { write: (line) => void lines.push(line) } });
    // The client hangs up when the server has the head and waits for the body.
    const begins = () => void (hangsUp && setImmediate(() => socket.destroy()));
    const audit: Audit = { begins, ends: (_entry, code) => void codes.push(code) };
    const shop = await startShop({ audit, log });
    const head = `POST ${collection} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer owner-token\r\n`;
    const socket = connect(shop.server.port, '127.0.0.1', () => socket.write(head + rest));
    // The server may reset a connection whose bytes it has not all read.
    socket.on('error', () => socket.destroy());
    await new Promise((closed) => socket.on('close', closed));
    while (codes.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(codes).toEqual([400]);
    expect(lines).toEqual([]);
  });

  it('records the end of a request that broke off while its sender was being authenticated', async () => {
    const codes: number[] = [];
    const audit: Audit = { begins: () => {}, ends: (_entry, code) => void codes.push(code) };
    const late = async (request: IncomingMessage) => {
      while (!request.destroyed) await new Promise((resolve) => setTimeout(resolve, 5));
      return { name: 'owner', groups: ['system:masters'] };
    };
    const shop = await startShop({ audit, authenticate: late });
    const head = `POST ${collection} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const socket = connect(shop.server.port, '127.0.0.1', () => socket.write(`${head}no size\r\n`));
    socket.on('error', () => socket.destroy());
    await new Promise((closed) => socket.on('close', closed));
    for (let turns = 0; turns < 100 && codes.length === 0; turns++) await new Promise((go) => setTimeout(go, 5));
    expect(codes).toEqual([400]);
  });

  const listening = () => {
    const heard: string[] = [];
    const audit: Audit = {
      begins: ({ target, user }) => void heard.push(`${user?.name} begins ${target.verb} ${target.path}`),
      ends: ({ target, user }, code) => void heard.push(`${user?.name} ends ${target.verb} ${target.path} ${code}`),
      streamStarts: () => void heard.push('a stream starts'),
      streamEnds: (_, { bytesOut }) => void heard.push(`a stream ends after ${bytesOut} bytes`),
    };
    return { heard, audit };
  };

  it('records each refused request once: strangers, missing rights, unknown kinds and paths', async () => {
    const { heard, audit } = listening();
    const shop = await startShop({ audit });
    shop.access.add({ name: 'ann', token: 'ann-token' });
    await shop.call('GET', collection, undefined, { authorization: 'Bearer wrong' });
    await shop.call('GET', collection, undefined, { authorization: 'Bearer ann-token' });
    await shop.call('GET', '/apis/shop.example/v1/namespaces/main/nothings');
    await shop.call('GET', '/apis/nowhere.example/v1/things');
    await shop.call('GET', '/nowhere');
    await shop.call('GET', '/version');
    expect(heard).toEqual([
      `undefined ends list ${collection} 401`,
      `ann ends list ${collection} 403`,
      'owner ends list /apis/shop.example/v1/namespaces/main/nothings 404',
      'owner ends list /apis/nowhere.example/v1/things 404',
      'owner begins get /nowhere',
      'owner ends get /nowhere 404',
      'owner begins get /version',
      'owner ends get /version 200',
    ]);
  });

  it('records the beginning of a watch, its outcome before the first byte, and its end with the number of sent bytes', async () => {
    const { heard, audit } = listening();
    const shop = await startShop({ audit });
    await shop.call('POST', collection, widget('a'));
    heard.length = 0;
    const headers = { authorization: 'Bearer owner-token' };
    const response = await fetch(`${shop.server.url}${collection}?watch=true`, { headers });
    const begun = [`owner begins watch ${collection}`, `owner ends watch ${collection} 200`, 'a stream starts'];
    expect(heard).toEqual(begun);
    shop.server.endWatches();
    const bytes = (await response.text()).length;
    while (heard.length < 4) await new Promise((resolve) => setImmediate(resolve));
    expect(heard.slice(3)).toEqual([`a stream ends after ${bytes} bytes`]);
    await shop.call('GET', `${collection}?watch=true&timeoutSeconds=x`);
    expect(heard.slice(4)).toEqual([`owner begins watch ${collection}`, `owner ends watch ${collection} 400`]);
  });
});
