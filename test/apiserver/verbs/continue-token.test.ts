import { describe, expect, it } from 'vitest';
import { StatusFault } from '../../../src/apiserver/request/status-fault.ts';
import { decodeContinue, encodeContinue } from '../../../src/apiserver/verbs/continue-token.ts';

const encoded = (token: unknown) => Buffer.from(JSON.stringify(token)).toString('base64url');
const whole = { v: 'meta.k8s.io/v1', rv: 7, start: 'ns/a\u0000' };

describe('decodeContinue()', () => {
  it.each([
    { claim: 'the key without its end mark', token: whole, wanted: { revision: 7, after: 'ns/a' } },
    { claim: 'a key that has no end mark', token: { ...whole, start: 'ns/a' }, wanted: { revision: 7, after: 'ns/a' } },
    { claim: 'the present', token: { ...whole, rv: -1 }, wanted: { revision: -1, after: 'ns/a' } },
  ])('reads $claim', ({ token, wanted }) => {
    expect(decodeContinue(encoded(token))).toEqual(wanted);
  });

  it.each([
    { claim: 'an unknown version', token: { ...whole, v: 'v2' }, says: /unrecognized version/ },
    { claim: 'revision 0', token: { ...whole, rv: 0 }, says: /incorrect start or revision/ },
    { claim: 'a fraction as revision', token: { ...whole, rv: 1.5 }, says: /incorrect start or revision/ },
    { claim: 'a missing start', token: { v: whole.v, rv: 7 }, says: /incorrect start or revision/ },
    { claim: 'a start above its prefix', token: { ...whole, start: 'ns/../b' }, says: /is not valid: ns\/\.\.\/b/ },
    { claim: 'a list', token: [], says: /looking for beginning of value/ },
  ])('refuses $claim', ({ token, says }) => {
    expect(() => decodeContinue(encoded(token))).toThrow(says);
    expect(() => decodeContinue(encoded(token))).toThrow(StatusFault);
  });

  it('refuses a token that was sealed for somebody else, for another list, or not at all', () => {
    const sealFor = (user: string) => (start: string) => `${user} ${start}`.padEnd(40);
    const page = { revision: 7, after: 'ns/a' };
    const token = encodeContinue(page, sealFor('one'));
    expect(decodeContinue(token, sealFor('one'))).toEqual(page);
    for (const other of [token, encodeContinue(page), encodeContinue({ ...page, after: 'ns/b' }, () => 'one')])
      expect(() => decodeContinue(other, sealFor('two'))).toThrow(/made for the same caller and the same list/);
  });
});
