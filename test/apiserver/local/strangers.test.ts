import { describe, expect, it } from 'vitest';
import { hostFault, isLoopback, senderFault } from '../../../src/apiserver/local/strangers.ts';

const known = { names: ['hostward.monitoring.svc', ''], from: 'the names in --somewhere' };
const json = { 'content-type': 'application/json', host: 'localhost:9440' };

describe('a port on this machine', () => {
  it.each(['localhost:9440', 'LocalHost', '127.0.0.1:9440', '10.0.0.7', '[::1]:9440', '[fd00::1]'])(
    'answers to %s',
    (host) => expect(hostFault(host, undefined)).toBe(undefined),
  );

  it.each([
    'evil.example',
    'localhost.evil.example:9440',
    '127.0.0.1.nip.io',
    'localhost.',
    '[::1',
    '0x7f000001',
    '',
    ':9440',
    undefined,
  ])('does not answer to %s', (host) => {
    expect(hostFault(host, undefined)?.status).toBe(421);
    expect(hostFault(host, known)?.status).toBe(421);
  });

  it('answers to names that the operator has configured, in any letter case', () => {
    expect(hostFault('Hostward.Monitoring.svc:9440', known)).toBe(undefined);
    expect(hostFault('other.monitoring.svc:9440', known)).toEqual({
      status: 421,
      sentence: 'this port answers to localhost, to IP addresses and to the names in --somewhere',
    });
    expect(hostFault('other', undefined)?.sentence).toBe('this port answers to localhost and to IP addresses');
  });

  it.each([
    ['a program', {}, undefined],
    ['a page of this port', { 'sec-fetch-site': 'same-origin', origin: 'http://localhost:9440' }, undefined],
    ['a bookmark', { 'sec-fetch-site': 'none' }, undefined],
    ['an older browser on this port', { origin: 'http://localhost:9440' }, undefined],
    ['another origin', { 'sec-fetch-site': 'cross-site' }, 403],
    ['another port of this machine', { 'sec-fetch-site': 'same-site', origin: 'http://localhost:9440' }, 403],
    ['an older browser on another origin', { origin: 'http://localhost:9441' }, 403],
    ['a sandboxed frame', { origin: 'null' }, 403],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['a form that pretends', { 'content-type': 'text/plain; application/json' }, 415],
  ])('judges a POST of %s', (_, headers, status) => {
    expect(senderFault('POST', { ...json, ...headers })?.status).toBe(status);
    expect(senderFault('GET', { ...json, ...headers })).toBe(undefined);
  });

  it.each([
    ['127.0.0.1', true],
    ['127.9.9.9', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['10.1.2.3', false],
    ['::ffff:10.1.2.3', false],
    [undefined, false],
  ])('knows whether %s is this machine: %s', (address, expected) => expect(isLoopback(address)).toBe(expected));
});
