import { describe, expect, it } from 'vitest';
import { checkText, parseInterval, parseListen } from '../../../src/config/settings/text-rules.ts';
import { nearestKey } from '../../../src/object/meta/nearest-key.ts';

describe('checkText()', () => {
  it.each([
    '10.0.0.0/8',
    '0.0.0.0/0',
    '::/0',
    '2001:db8::/32',
    '192.0.2.1/32',
    '2001:db8::1/128',
    '64:ff9b::192.0.2.0/120',
  ])('takes the network %s', (text) => expect(checkText(text, 'network')).toBeUndefined());

  it.each([
    ['10.0.0.0', 'write 10.0.0.0/32'],
    ['2001:db8::1', 'write 2001:db8::1/128'],
    ['10.1.2.3/8', 'write 10.0.0.0/8'],
    ['2001:db8:0:1::/48', 'write 2001:db8::/48'],
    ['2001:db8::1:2/112', 'write 2001:db8::1:0/112'],
    ['1::/0', 'write ::/0'],
    ['::ffff:10.1.0.0/112', 'write 10.1.0.0/16'],
    ['010.0.0.0/8', 'for example 10.0.0.0/8'],
    ['10.0.0/8', 'for example 10.0.0.0/8'],
    ['10.0.0.0/08', 'the length is a number from 0 to 32'],
    ['::/129', 'the length is a number from 0 to 128'],
    ['fe80::%1/64', 'for example 10.0.0.0/8'],
    ['', 'for example 10.0.0.0/8'],
  ])('refuses the network %j and says: %s', (text, fix) => {
    expect(checkText(text, 'network')?.fix).toBe(fix);
  });

  it('accepts keys and * as patterns', () => {
    for (const text of ['*', 'example.com/*', 'a', '*-internal', 'example.com/a.b_c-d'])
      expect(checkText(text, 'pattern')).toBeUndefined();
    for (const text of ['', 'a b', '/a', 'a/', '[a]']) expect(checkText(text, 'pattern')).toBeDefined();
  });

  it('accepts HOST:PORT', () => {
    expect(parseListen('127.0.0.1:9440')).toEqual({ host: '127.0.0.1', port: 9440 });
    expect(parseListen('[::]:0')).toEqual({ host: '::', port: 0 });
    expect(parseListen('localhost:80')).toEqual({ host: 'localhost', port: 80 });
    for (const text of [':80', '::1:80', 'a:65536', 'a', '[x]:1', 'a:b']) expect(parseListen(text)).toBeUndefined();
  });
});

describe('nearestKey()', () => {
  const known = ['enabled', 'patches', 'expression', 'reverseExpression', 'onMissing', 'listen'];
  it.each([
    ['Enabled', 'enabled'],
    ['enabeld', 'enabled'],
    ['patch', 'patches'],
    ['expr', 'expression'],
    ['reverseExpresion', 'reverseExpression'],
    ['onmising', 'onMissing'],
    ['listenAddress', 'listen'],
    ['listenaddress', 'listenAddress', ['listen', 'listenAddress']],
    ['endpointSlice', 'endpointSlices', ['endpoints', 'endpointSlices']],
    ['zzz', undefined],
    ['e', undefined],
    ['', undefined],
  ])('takes %j for %j', (wrong, meant, among = known) => {
    expect(nearestKey(wrong, among)).toBe(meant);
  });
});

describe('parseInterval()', () => {
  it.each([
    ['0', 0],
    ['1s', 1_000],
    ['60s', 60_000],
    ['5m', 300_000],
    ['24h', 86_400_000],
  ])('takes %s', (text, ms) => expect(parseInterval(text)).toBe(ms));

  it.each(['', '60', '0s', '-1s', '1.5s', '25h', '1d', '60 s', '1m30s', '99999h'])('refuses %j', (text) => {
    expect(parseInterval(text)).toBeUndefined();
    expect(checkText(text, 'interval')?.wanted).toBe('0, or a time from 1s to 24h');
  });
});
