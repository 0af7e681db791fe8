import { describe, expect, it } from 'vitest';
import { decide } from '../../../src/sync/plan/decide/decide.ts';
import { markerLabel, objectKeys, pauseKey, theSix } from '../../../src/sync/plan/keys/reserved-keys.ts';
import { type Facts, freshMemory, type Memory } from '../../../src/sync/plan/step.ts';
import {
  asAddress,
  asAnnotation,
  asLabel,
  copyWith,
  factsWith,
  place,
  stepText,
  translation,
  virtualWith,
} from '../facts.ts';

interface Row {
  rule: string;
  facts: Partial<Facts>;
  memory?: Partial<Memory>;
  step: string;
}

const native = copyWith(({ metadata }) => {
  metadata.labels = {};
  metadata.annotations = {};
});
const foreign = copyWith(({ metadata }) => {
  metadata.labels = {};
  for (const mark of theSix.slice(1)) delete metadata.annotations?.[mark];
});
const ofOther = copyWith(asAnnotation(objectKeys.name, 'other'));
const stray = copyWith(({ metadata }) => Object.assign(metadata, { namespace: 'elsewhere' }));
const noService = { kind: 'ineligible', reason: 'NoService', sentence: 'there is no Service' } as const;
const ownerMissing = { kind: 'missing', message: 'there is no owner' } as const;
const item = { namespace: 'vcluster-vc', name: 'web', uid: 's-2', resourceVersion: '1' };
const service = (of: object) => ({ hostService: { known: true, service: { ...item, ...of } } }) as const;
const host = (change: Parameters<typeof copyWith>[0]) => ({ host: copyWith(change) });
const withoutService = { hostService: { known: true, service: undefined } } as const;

const rows: Row[] = [
  { rule: '2: not eligible, with a copy', facts: { verdict: noService }, step: 'host remove' },
  {
    rule: '2: not eligible, without a copy',
    facts: { verdict: noService, host: undefined },
    step: 'ineligible NoService',
  },
  { rule: '3: eligible and missing', facts: { host: undefined }, step: 'host create' },
  {
    rule: '3: missing, and no owner',
    facts: { host: undefined, owner: ownerMissing },
    step: 'waiting OwnerMissing',
  },
  {
    rule: '3: an update needs no owner',
    facts: { ...host(asAddress('10.0.0.9')), owner: ownerMissing },
    step: 'host patch',
  },
  {
    rule: '3: the copy is being deleted',
    facts: host(({ metadata }) => Object.assign(metadata, { deletionTimestamp: 'now' })),
    step: 'waiting HostDeleting',
  },
  { rule: '4: native, the host Service not read yet', facts: { host: native }, step: 'host get' },
  {
    rule: '4: native, no host Service',
    facts: { host: native },
    memory: withoutService,
    step: 'host patch',
  },
  {
    rule: '4: native, the host Service is our copy',
    facts: { host: native },
    memory: service({ isCopyOf: 'default/web' }),
    step: 'host patch',
  },
  {
    rule: '4: native, the host Service has a selector',
    facts: { host: native },
    memory: service({ isCopyOf: 'default/web', hasSelector: true }),
    step: 'refused HostNameTaken',
  },
  {
    rule: '4: native, the host Service is not our copy',
    facts: { host: native },
    memory: service({}),
    step: 'refused HostNameTaken',
  },
  { rule: '4: foreign', facts: { host: foreign }, step: 'refused NotOwned' },
  { rule: '4: it names another key, which has another place', facts: { host: ofOther }, step: 'refused NotOwned' },
  { rule: '4: ours and damaged', facts: host(asLabel(markerLabel, undefined)), step: 'host patch' },
  {
    rule: '5: another uid, and an edit on the host',
    facts: {
      virtual: virtualWith(({ metadata }) => Object.assign(metadata, { uid: 'v-2' })),
      ...host(asLabel('team', 'edited')),
    },
    step: 'host patch',
  },
  { rule: '7: addresses edited on the host', facts: host(asAddress('10.0.0.9')), step: 'host patch' },
  { rule: '8: a label edited on the host', facts: host(asLabel('team', 'b')), step: 'virtual patch' },
  {
    rule: '8: a label edited by the tenant',
    facts: { virtual: virtualWith(asLabel('team', 'b')) },
    step: 'host patch',
  },
  {
    rule: '8: a removed label before the Services are current',
    facts: { ...host(asLabel('team', undefined)), mayRemoveLabelsBack: false },
    step: 'waiting BackFlowHeld',
  },
  {
    rule: '8: a removed label and an edited annotation before the Services are current',
    facts: {
      ...host((object) => {
        asLabel('team', undefined)(object);
        asAnnotation('note', 'm')(object);
      }),
      mayRemoveLabelsBack: false,
    },
    step: 'virtual patch',
  },
  { rule: '9: paused on the host', facts: host(asAnnotation(pauseKey, 'true')), step: 'left Paused' },
  { rule: '10: nothing to change', facts: {}, step: 'inSync' },
  { rule: '11: a conflict on the host', facts: {}, memory: { mustRead: { side: 'host', place } }, step: 'host get' },
  {
    rule: '11: a conflict on the virtual side',
    facts: {},
    memory: { mustRead: { side: 'virtual', place } },
    step: 'virtual get',
  },
  {
    rule: '12: both sides keep changing the same keys',
    facts: { ...host(asLabel('team', 'b')), backFlowWaitMs: 500 },
    step: 'waiting Contested',
  },
  { rule: '13: another key holds the name', facts: { winner: 'default/other' }, step: 'refused NameCollision' },
  {
    rule: '14: a refused address, with a copy',
    facts: { refusals: [{ address: '127.0.0.1', rule: 'loopback' }] },
    step: 'host remove',
  },
  {
    rule: '14: a refused address, without a copy',
    facts: { host: undefined, refusals: [{ address: '127.0.0.1', rule: 'loopback' }] },
    step: 'refused AddressRefused',
  },
  {
    rule: '15: a list in doubt',
    facts: { verdict: noService, isDeleteWithheld: true },
    step: 'waiting DeleteWithheld',
  },
  {
    rule: '17: an old copy, once the new one is in sync',
    facts: { strays: [stray] },
    step: 'host remove',
  },
  {
    rule: '17: an old copy, before the new one exists',
    facts: { host: undefined, strays: [stray] },
    step: 'host create',
  },
  {
    rule: '17: a Service of the host itself at the name of our copy',
    facts: { hostService: item },
    step: 'host remove',
  },
  {
    rule: 'patches: one patch failed',
    facts: { patchFailure: { at: 'metadata.labels', class: 'threw', message: 'no' } },
    step: 'refused PatchFailed',
  },
  {
    rule: 'an answer ended the pass',
    facts: { host: undefined },
    memory: { end: { kind: 'retry', message: 'no' } },
    step: 'retry',
  },
];

describe('decide, by the rules of sync', () => {
  it.each(rows)('$rule: $step', ({ facts, memory, step }) => {
    expect(stepText(decide(factsWith(facts), { ...freshMemory(), ...memory }, translation))).toBe(step);
  });

  const writes = rows.filter(({ step }) => /patch|remove/.test(step));
  it.each(writes)('uid and resourceVersion go along with the $step of "$rule"', ({ facts, memory }) => {
    const given = factsWith(facts);
    const step = decide(given, { ...freshMemory(), ...memory }, translation);
    const request = step.kind === 'request' ? step.request : undefined;
    const { uid, resourceVersion } = (request?.side === 'virtual' ? given.virtual : given.host) ?? {};
    if (request?.verb === 'remove') expect(request.preconditions).toEqual({ uid, resourceVersion });
    else expect(request).toMatchObject({ mergePatch: { metadata: { uid, resourceVersion } } });
  });

  it.each<[name: string, isLast: boolean, facts: Partial<Facts>, memory?: Partial<Memory>]>([
    ['a create', true, { host: undefined }],
    ['an update', true, { host: copyWith(asAddress('10.0.0.9')) }],
    ['an update while an old copy remains', false, { host: copyWith(asAddress('10.0.0.9')), strays: [stray] }],
    ['a take-over', false, { host: native }, withoutService],
    [
      'an update while a removed label is held',
      false,
      {
        host: copyWith((object) => {
          asAddress('10.0.0.9')(object);
          asLabel('team', undefined)(object);
        }),
        mayRemoveLabelsBack: false,
      },
    ],
  ])('%s is the last write of its pass: %s', (_, isLast, facts, memory) => {
    const step = decide(factsWith(facts), { ...freshMemory(), ...memory }, translation);
    expect(step).toMatchObject({ kind: 'request', isLast });
  });
});
