// Rights that are taken from a daemon while it runs, in several ways: the page names each one first and in a few words, and the command
// that it prints gives it back, with the real doctor and the real kubectl.
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { statusMain } from '../../../src/pages/status/status-page.ts';
import { objectRemedies } from '../../../src/sync/report/attention/remedies.ts';
import type { StatusJson } from '../../../src/sync/report/words.ts';
import { Interferer } from '../../contract/interferer.ts';
import { hostNamespace, type Right, type Side, until, virtualCluster } from '../../contract/sync-stage/backend.ts';
import type { LiveDaemon } from '../../contract/sync-stage/daemon.ts';
import { shippedRights } from '../../contract/sync-stage/every-verb.ts';
import { virtualRights } from '../../contract/sync-stage/rights.ts';
import { SyncStage, subsetsOf } from '../../contract/sync-stage/stage.ts';
import { textOf } from '../../pages/fields.ts';
import type { RealBackend } from './sync-backend.ts';

const run = promisify(execFile);
const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
const content = ['secrets', 'configmaps'];
const config = {
  hostward: { leaderElection: 'never' },
  sync: {
    toHost: {
      endpoints: { patches: [{ path: 'metadata.annotations["k"]', reference: { apiVersion: 'v1', kind: 'Secret' } }] },
      secrets: { enabled: true },
    },
  },
};
const all: Record<Side, Right[]> = {
  host: shippedRights('role.yaml'),
  virtual: [
    ...virtualRights,
    { group: '', resources: content, verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
  ],
};

/** What is taken, and the sentence that the verdict begins with. */
const ways: [string, { side: Side; resource: string; verbs: string[]; says: RegExp }][] = [
  [
    'reads of the Endpoints of the host',
    {
      side: 'host',
      resource: 'endpoints',
      verbs: ['list', 'watch'],
      says: /^a right is missing in the host cluster since \S+: not allowed to (list|watch) endpoints in namespace/,
    },
  ],
  [
    'reads of the Secrets of the tenant',
    {
      side: 'virtual',
      resource: 'secrets',
      verbs: ['list', 'watch'],
      says: /^a right is missing in the virtual cluster since \S+: not allowed to (list|watch) secrets/,
    },
  ],
  [
    'writes to the host',
    {
      side: 'host',
      resource: 'endpoints',
      verbs: ['create', 'patch', 'delete'],
      says: /^cannot write to the host cluster since \S+: not allowed to patch endpoints in namespace/,
    },
  ],
];

export function takenRightsSuite(backend: () => RealBackend, kubectlFolder: string): void {
  describe('rights that are taken from a running daemon', () => {
    const folder = mkdtempSync(join(tmpdir(), 'hostward-rights-'));
    const interferers: Partial<Record<Side, Interferer>> = {};
    let stage: SyncStage;
    let daemon: LiveDaemon;
    beforeAll(async () => {
      const program = join(folder, 'hostward');
      writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
      chmodSync(program, 0o700);
      stage = new SyncStage(backend());
      await stage.set();
      for (const side of ['virtual', 'host'] as const) {
        await backend()[side].grant(all[side]);
        interferers[side] = await new Interferer(backend()[side]).start();
      }
      const of = (name: string) => ({ namespace: stage.tenant, name });
      await stage.create('virtual', 'secrets', { metadata: of('seen'), data: {} } as never);
      await stage.pair({ name: 'web', metadata: { annotations: { k: 'seen' } } });
      const via = Object.fromEntries(Object.entries(interferers).map(([side, one]) => [side, one.at]));
      daemon = await stage.daemon({ config, via });
    });
    afterEach(async () => {
      for (const side of ['virtual', 'host'] as const) await backend()[side].grant(all[side]);
    });
    afterAll(async () => {
      await daemon?.stop();
      for (const one of Object.values(interferers)) await one.stop();
      const name = `hostward-${virtualCluster}-rights`;
      const rbac = '/apis/rbac.authorization.k8s.io/v1';
      for (const side of ['virtual', 'host'] as const) {
        for (const kind of ['role', 'clusterrole'])
          for (const what of [`${kind}s`, `${kind}bindings`]) {
            const place = kind === 'role' ? `/namespaces/${hostNamespace}` : '';
            await backend()[side].admin.request('DELETE', `${rbac}${place}/${what}/${name}`);
          }
      }
      await stage?.remove('virtual', 'secrets', { namespace: stage.tenant, name: 'seen' });
      await stage?.grantAll();
      await stage?.clear();
      stage?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    /** As a daemon tells it that runs where a person has another kubectl. */
    const status = (): StatusJson => {
      const options = [
        ...[{ option: 'config', value: stage.file(JSON.stringify(config)) }],
        ...Object.entries({ 'vcluster-name': virtualCluster, 'host-namespace': hostNamespace }).map(
          ([option, value]) => ({ option, value }),
        ),
        ...(['virtual', 'host'] as const).map((side) => ({
          option: `${side}-kubeconfig`,
          value: daemon.kubeconfigFile(side),
        })),
      ];
      return JSON.parse(
        JSON.stringify({ ...daemon.status, startedAs: { program: 'hostward', options, restart: 'hostward run' } }),
      );
    };
    const page = () => statusMain(status(), [], { asOf: new Date() }).text;

    it.each(ways)('names it first and tells how to get it back: %s', async (_, { side, resource, verbs, says }) => {
      const left = all[side].map((right) =>
        right.resources.includes(resource)
          ? { ...right, verbs: right.verbs.filter((verb) => !verbs.includes(verb)) }
          : right,
      );
      await backend()[side].grant(left);
      await until('the end of the right', async () => {
        const answer = await stage.mayDaemon(side, verbs[0] as string, resource);
        return answer ? undefined : true;
      });
      interferers[side]?.cut();
      const name = `new-${resource}-${verbs.length}`;
      if (resource === 'secrets') await stage.pair({ name, metadata: { annotations: { k: 'unseen' } } });
      else await stage.editTenants('web', { subsets: subsetsOf(`10.0.${verbs.length}.1`) });
      const sentence = await until('the sentence', async () => {
        await daemon.clock.jump(2_000);
        const { verdict } = daemon.status;
        return says.test(verdict.sentence) ? verdict.sentence : undefined;
      });
      expect(sentence).not.toMatch(/User "/);
      const refusals = textOf(page()).match(/User "[^"]*" cannot/g) ?? [];
      expect(refusals).toHaveLength(1);
      if (resource === 'secrets') {
        const key = `${stage.tenant}/unseen`;
        const told = await until('the reference', async () => {
          const found = await daemon.of(name);
          return found?.state === 'inSync/ReferenceUnread' ? found : undefined;
        });
        expect(told.message).toMatch(
          new RegExp(
            `^Secret ${key}: the virtual cluster does not allow "(list|watch)" on secrets, so it is not known`,
          ),
        );
        const remedies = objectRemedies({ status: status(), address: undefined }, told);
        expect(remedies[0]?.command).toMatch(/--rights virtual \| kubectl auth reconcile -f -$/);
      }
      const command = new RegExp(`<code>([^<]*--rights ${side} [^<]*)</code>`).exec(page())?.[1] as string;
      expect(command).toMatch(/ \| kubectl auth reconcile -f -$/);
      await run('sh', ['-c', textOf(command)], {
        env: {
          PATH: `${folder}:${kubectlFolder}:${process.env['PATH']}`,
          HOME: folder,
          KUBECONFIG: stage.file(backend()[side].cluster.kubeconfigFor({ token: backend()[side].cluster.adminToken })),
        },
      });
      // A jump ends what is under way on a slow machine, and the daemon then says first that a cluster does not answer.
      await until('a daemon that has it back', async () => {
        await daemon.clock.jump(61_000);
        const isRefused = /User "[^"]*" cannot/.test(textOf(page()));
        return isRefused || says.test(daemon.status.verdict.sentence) ? undefined : true;
      });
    });
  });
}
