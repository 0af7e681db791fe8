// What needs a person in the management API has a command that mends or shows it: the sentences are those of the API itself.
import { expect, it } from 'vitest';
import { shortText } from '../../../src/cli/running/short-text.ts';
import { damageText } from '../../../src/management/audit/chain/find-damage.ts';
import { mendRights } from '../../../src/management/proxy/upstreams.ts';
import { sharedStatus } from '../../../src/management/server/host/shared-store.ts';
import { openFaults } from '../../../src/management/server/management-status.ts';
import { attentionIn, attentionOf } from '../../../src/sync/report/attention/attention.ts';

const startedAs = {
  program: 'npx hostward',
  options: [
    { option: 'config', value: '/etc/hostward/api.yaml' },
    { option: 'host-kubeconfig', value: '/k' },
  ],
  restart: 'npx hostward run --config /etc/hostward/api.yaml',
};
const upstreams = [
  { name: 'cluster c1', missing: ['impersonate users u', 'get pods'], mend: mendRights('--cluster c1') },
  { name: 'virtual cluster shop/db', missing: ['get pods'], mend: mendRights('--instance shop/db') },
  { name: 'cluster dead', missing: [], trouble: 'connecting to "https://10.0.0.9:6443": connection refused' },
];
const leavers = [
  { user: 'ada lovelace', team: 'shop', keys: ['k1', 'k2'] },
  { user: 'kim', team: '', keys: ['k3'] },
];
const damages = [
  `the audit log was damaged before the start: ${damageText({ file: 'audit.log', line: 7, reason: 'the line was changed' })}`,
];
const place = 'namespace "hostward-records" of https://10.0.0.9:6443';
const store = { replicas: { live: [] }, unusable: new Map([['k9', 'its seal is wrong']]), trouble: undefined, place };
const shared = sharedStatus(
  { ...store, size: {}, silentMs: 0, sealedAs: undefined } as unknown as Parameters<typeof sharedStatus>[0],
  {
    replica: 'r',
    hidden: { names: ['hostward-key-7'], inTheWay: [] },
    marked: new Map([['hw-3', '/registry/ownedaccesskeys/ci']]),
    rights: { lackedCount: 0, trouble: undefined },
  },
);
const troubles = [
  ...shared.troubles,
  ...openFaults({ removalsWaiting: [{ instance: 'shop/db', trouble: 'refused' }], upstreams, leavers, damages }),
];
const status = { startedAs, management: { keys: {}, troubles } };
const found = (text: string) => attentionOf(status).find(({ message }) => message.includes(text));

const files = '--config /etc/hostward/api.yaml';
it.each([
  ['lacks rights in cluster c1', `npx hostward upstream-rbac --cluster c1 ${files} | kubectl apply -f -`],
  [
    'lacks rights in virtual cluster shop/db',
    `npx hostward upstream-rbac --instance shop/db ${files} | kubectl apply -f -`,
  ],
  ['cluster dead cannot be asked', `npx hostward doctor ${files} --host-kubeconfig /k`],
  ['ada lovelace is not in the team shop', `npx hostward keys list --made-by 'ada lovelace' ${files}`],
  ['kim is no administrator any more', `npx hostward keys list --made-by kim ${files}`],
  ['the audit log was damaged', `npx hostward audit verify ${files}`],
  ['is not believed', `npx hostward doctor ${files} --host-kubeconfig /k`],
  ['has lost its label', 'kubectl --namespace hostward-records get secret hostward-key-7 --show-labels'],
  ['is marked immutable', 'kubectl --namespace hostward-records get secret hw-3 -o yaml'],
  ['may still have rights in the virtual cluster shop/db', `npx hostward doctor ${files} --host-kubeconfig /k`],
])('of a trouble that says "%s"', (text, command) => {
  expect(found(text)?.command).toBe(command);
});

it('counts one record and several', () => {
  const two = { ...store, unusable: new Map([...store.unusable, ['k8', 'it is damaged']]), size: {}, silentMs: 0 };
  const { troubles: several } = sharedStatus(two as unknown as Parameters<typeof sharedStatus>[0], {
    replica: 'r',
    rights: { lackedCount: 0, trouble: undefined },
    hidden: { names: ['hostward-key-7', 'hostward-key-8'], inTheWay: [] },
    marked: new Map([
      ['hw-3', '/registry/ownedaccesskeys/ci'],
      ['hw-4', '/hostward/view'],
    ]),
  });
  expect(shared.troubles.map((text) => text.slice(0, text.indexOf('; the')))).toEqual([
    `1 record in ${place} is not believed and lets nobody in: k9 (its seal is wrong)`,
    `1 record in ${place} has lost its label and counts as deleted`,
    `1 record in ${place} is marked immutable, so that it cannot be disabled or rotated`,
  ]);
  expect(several.map((text) => text.slice(0, text.indexOf('; the')))).toEqual([
    `2 records in ${place} are not believed and let nobody in: k9 (its seal is wrong), k8`,
    `2 records in ${place} have lost their label and count as deleted`,
    `2 records in ${place} are marked immutable, so that they cannot be disabled or rotated`,
  ]);
  const items = attentionOf({ startedAs, management: { keys: {}, troubles: several } });
  expect(items.map(({ command }) => command)).toEqual([
    `npx hostward doctor ${files} --host-kubeconfig /k`,
    'kubectl --namespace hostward-records get secret hostward-key-7 --show-labels',
    'kubectl --namespace hostward-records get secret hw-3 -o yaml',
  ]);
});

it('never sends a reader back to the status, and hides no trouble behind another one', () => {
  const items = attentionOf(status);
  expect(items).toHaveLength(troubles.length);
  for (const { command } of items) expect(command).not.toMatch(/\bstatus\b/);
  const groups = attentionIn(status).groups;
  for (const { items: alike } of groups) expect(new Set(alike.map(({ command }) => command)).size).toBe(1);
  const long = Array.from({ length: 30 }, (_, at) => `value ${at}`);
  const some = { ...status, long, management: { keys: {}, troubles: troubles.slice(4, 7) } };
  const short = shortText(some, 80);
  for (const { items: alike } of attentionIn(some).groups) expect(short).toContain(alike[0]?.command);
});
