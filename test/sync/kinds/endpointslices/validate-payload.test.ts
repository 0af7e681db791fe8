import { describe, expect, it } from 'vitest';
import { problemOfPayload } from '../../../../src/sync/kinds/endpointslices/validate-payload.ts';

const endpoint = (over: object = {}): object => ({ addresses: ['10.0.0.1'], ...over });
const problemOf = (payload: object): string | undefined =>
  problemOfPayload({ addressType: 'IPv4', endpoints: [endpoint()], ports: [], ...payload })?.message;

describe('problemOfPayload() accepts', () => {
  it.each([
    ['lists that are absent', { endpoints: undefined, ports: undefined }],
    ['an IPv6 slice', { addressType: 'IPv6', endpoints: [endpoint({ addresses: ['2001:db8::1'] })] }],
    ['names', { addressType: 'FQDN', endpoints: [endpoint({ addresses: ['db.example.com'] })] }],
    ['a thousand endpoints', { endpoints: Array.from({ length: 1_000 }, () => endpoint()) }],
    ['a port without a number', { ports: [{ name: 'any' }] }],
    ['ports of different names', { ports: [{ port: 80 }, { name: 'b', port: 80 }] }],
  ])('%s', (_, payload) => {
    expect(problemOf(payload)).toBeUndefined();
  });
});

describe('problemOfPayload() names the place of', () => {
  it.each([
    [
      { endpoints: Array.from({ length: 1_001 }, () => endpoint()) },
      'endpoints must have at most 1000 endpoints, found 1001',
    ],
    [{ endpoints: 'a' }, 'endpoints must be an array'],
    [{ endpoints: [endpoint({ addresses: [] })] }, 'endpoints[0].addresses must have at least one address'],
    [
      { endpoints: [endpoint({ addresses: Array(101).fill('10.0.0.1') })] },
      'endpoints[0].addresses must have at most 100 addresses, found 101',
    ],
    [{ endpoints: [endpoint({ addresses: ['web'] })] }, 'endpoints[0].addresses[0] must be an IP address'],
    [
      { endpoints: [endpoint(), endpoint({ addresses: ['2001:db8::1'] })] },
      'endpoints[1].addresses[0] must be an IPv4 address, as addressType says, found an IPv6 address',
    ],
    [{ addressType: 'FQDN', endpoints: [endpoint({ addresses: ['db'] })] }, 'must be a fully qualified domain name'],
    [{ endpoints: [endpoint({ hostname: 'A.b' })] }, 'endpoints[0].hostname must be a DNS label'],
    [{ endpoints: [endpoint({ nodeName: 'A b' })] }, 'endpoints[0].nodeName must be a DNS subdomain'],
    [
      { endpoints: [endpoint({ conditions: { ready: 'yes' } })] },
      'endpoints[0].conditions.ready must be true or false',
    ],
    [{ endpoints: [endpoint({ targetRef: { name: 1 } })] }, 'endpoints[0].targetRef must be an object of strings'],
    [
      { endpoints: [endpoint({ hints: { forZones: [{ name: 'a' }, { name: 'a' }] } })] },
      'endpoints[0].hints.forZones[1].name must not be the name of another hint',
    ],
    [{ endpoints: [endpoint({ ip: '10.0.0.1' })] }, 'endpoints[0] has a field "ip", which EndpointSlices do not have'],
    [
      { endpoints: [endpoint({ deprecatedTopology: { a: 'b' } })] },
      'endpoints[0] has a field "deprecatedTopology", which EndpointSlices do not have',
    ],
    [
      { addressType: 'IPv6', endpoints: [endpoint({ addresses: ['::ffff:10.0.0.1'] })] },
      'endpoints[0].addresses[0] must not be an IPv4-mapped IPv6 address',
    ],
    [{ ports: [{ port: 70_000 }] }, 'ports[0].port must be a whole number from 1 to 65535, or left out, found 70000'],
    [{ ports: [{ name: 'A_b', port: 1 }] }, 'ports[0].name must be a DNS label'],
    [{ ports: [{ port: 1 }, { port: 2 }] }, 'ports[1].name must not be the name of another port'],
    [{ ports: [{ port: 1, protocol: 'HTTP' }] }, 'ports[0].protocol must be TCP, UDP or SCTP'],
    [{ ports: [{ port: 1, appProtocol: 'a b' }] }, 'ports[0].appProtocol must be a name'],
  ])('$1', (payload, message) => {
    expect(problemOf(payload)).toContain(message);
  });
});
