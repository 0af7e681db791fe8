import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fillNewKey, judgeNewKey } from '../../../src/management/keys/rules/issue.ts';
import { keySpec, subjectOf } from '../../../src/management/keys/rules/key-spec.ts';
import { validateKey } from '../../../src/management/keys/rules/validate-key.ts';
import { actsAsAdministrator, allows, type Credential } from '../../../src/management/scope/allows.ts';
import { parseScope } from '../../../src/management/scope/parse-scope.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { sampled } from '../../sampled.ts';
import { requests, scopeValues } from '../scope/random-scopes.ts';
import { shop, subject } from '../scope/scopes.ts';

const specs = fc.record({
  user: fc.constantFrom(undefined, undefined, 'alice', 'bob'),
  team: fc.constantFrom(undefined, undefined, 'red', 'blue'),
  subject: fc.constantFrom(undefined, undefined, undefined, 'robot'),
  groups: fc.constantFrom([], [], [], ['devs'], ['qa'], ['ops', 'devs']),
  ttl: fc.constantFrom(0, 10, 100),
});

function pick<T extends object>(own: T | undefined, lists: readonly (keyof T)[]): Partial<T> | undefined {
  if (own === undefined) return undefined;
  const picked: Partial<T> = {};
  for (const list of lists) picked[list] = own[list];
  return picked;
}

describe('whatever a key makes', () => {
  it('reaches nothing that the key itself does not', () => {
    let made = 0;
    let compared = 0;
    const callers = fc.constantFrom('alice', 'bob', 'vera', 'root');
    const fine = scopeValues.filter((value) => parseScope(value).errors.length === 0);
    const maybe = fc.option(fine, { nil: undefined, freq: 4 });
    // Half of the time the caller's own scope is asked for, or a list of it: most others are refused.
    const lists = fc.subarray(['projects', 'virtualClusters', 'clusters', 'rules', 'roles', 'spaces'] as const);
    const wish = fc.oneof(maybe, lists);
    const end = fc.constantFrom(undefined, 50_000);
    fc.assert(
      fc.property(
        callers,
        maybe,
        specs,
        wish,
        end,
        fc.array(requests, { minLength: 30, maxLength: 30 }),
        (who, own, rest, wished, expiryMs, asked) => {
          const wanted = Array.isArray(wished) ? pick(own, wished) : wished;
          const caller: Credential = {
            subject: subject(who),
            keyName: 'calling',
            scopes: [own === undefined ? undefined : parseScope(own).scope],
          };
          const context = {
            caller: {
              credential: caller,
              isAdministrator: actsAsAdministrator(caller),
              expiryMs,
              networks: undefined,
              makers: 0,
            },
            directory: shop,
            limits: { maxTTL: 0, requireExpiry: false, allowSupplied: false, perOwner: 1000 },
            nowMs: 0,
          };
          // An administrator without scope may give anything to anybody.
          if (context.caller.isAdministrator) return;
          const object: KubeObject = { metadata: { name: 'made' }, spec: { ...rest, scope: wanted } };
          fillNewKey(object, context);
          const judged = judgeNewKey(object, context, 0);
          const owner = subjectOf(keySpec(object));
          if (judged.errors.length + judged.refusals.length + validateKey(object).errors.length > 0) return;
          if (owner === undefined) return;
          made++;
          expect(expiryMs === undefined || (keySpec(object).ttl > 0 && keySpec(object).ttl * 1000 <= expiryMs)).toBe(
            true,
          );
          const resolved = shop.resolve(owner, { listed: keySpec(object).groups, granted: [] });
          if (resolved.kind !== 'here') return;
          const scope = wanted === undefined ? undefined : parseScope(wanted).scope;
          // Without the scopes of its makers, so that the check at the making holds by itself.
          const child: Credential = { subject: resolved.subject, keyName: 'made', scopes: [scope] };
          for (const request of asked) {
            if (!allows(shop, child, request).allowed) continue;
            compared++;
            expect({ request, allowed: allows(shop, caller, request).allowed }).toEqual({ request, allowed: true });
          }
        },
      ),
      { numRuns: sampled(6000) },
    );
    expect(made).toBeGreaterThan(sampled(200));
    expect(compared).toBeGreaterThan(sampled(500));
  });
});
