// docs/upgrade.md says what an older version does with what a newer one has stored, and the other way round. Here both do it: this
// version, and the package of an earlier commit, built and installed as people would. Takes two minutes, so `.ci/proof upgrade` runs it.
import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Processes, root } from './processes.ts';

/** Nothing is released yet. So many commits ago, the program already had everything that is stored. */
const commitsAgo = 100;

const git = (...words: string[]) =>
  spawnSync('git', ['-C', root, '-c', 'safe.directory=*', ...words], { encoding: 'utf8' });
const earlier = git('rev-parse', '--verify', '--quiet', `HEAD~${commitsAgo}`).stdout.trim();
const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;
const reason =
  process.env['HOSTWARD_UPGRADE'] !== '1' ? 'runs with .ci/proof upgrade' : earlier === '' ? 'no history' : undefined;

describe.skipIf(reason !== undefined)(
  `upgrade and downgrade${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  () => {
    const processes = new Processes();
    type Version = 'older' | 'newer';
    const folderOf = (version: Version) =>
      version === 'newer' ? root : join(processes.folder, 'installed', 'node_modules', 'hostward');

    beforeAll(() => {
      const [sources, installed] = ['sources', 'installed'].map((name) => join(processes.folder, name));
      for (const folder of [sources, installed]) mkdirSync(folder as string);
      symlinkSync(join(root, 'node_modules'), join(sources as string, 'node_modules'));
      const steps = [
        `git -C '${root}' -c safe.directory='*' archive ${earlier} | tar -x -C '${sources}'`,
        `cd '${sources}' && npm pack --silent --pack-destination '${installed}' >&2`,
        `cd '${installed}' && npm init --yes >/dev/null && npm install --no-audit --no-fund --silent --prefer-offline ./*.tgz`,
      ];
      for (const step of steps) {
        const { status, stderr } = spawnSync('sh', ['-c', `set -e; ${step}`], { encoding: 'utf8' });
        expect([step, status, status === 0 ? '' : stderr]).toEqual([step, 0, '']);
      }
    }, 300_000);
    afterAll(() => processes.stop());

    const run = (version: Version, line: string) => processes.run(line.split(' '), folderOf(version));

    describe('of the management API', () => {
      const management = { dataDir: 'management', listen: '127.0.0.1:1', users: [{ name: 'alice' }] };
      const names = (version: Version): string[] => {
        const { status, stdout, stderr } = run(version, 'keys list --config management.yaml -o json');
        expect([status, stderr]).toEqual([0, '']);
        const list = JSON.parse(stdout) as { items: { metadata: { name: string } }[] };
        return list.items.map(({ metadata }) => metadata.name).sort();
      };
      const make = (version: Version, name: string, more = '') => {
        const { status, stderr } = run(version, `keys create ${name} --config management.yaml${more}`);
        expect([status, stderr]).toEqual([0, expect.any(String)]);
      };

      it('keeps every key, and an audit log that both can verify', () => {
        processes.write('management.yaml', JSON.stringify({ hostward: { management } }));
        make('older', 'first', ' --admin');
        expect(names('newer')).toEqual(['first']);
        make('newer', 'second', ' --user alice');
        expect(names('older')).toEqual(['first', 'second']);
        make('older', 'third', ' --user alice');
        expect(names('newer')).toEqual(['first', 'second', 'third']);
        for (const version of ['older', 'newer'] as const)
          expect(run(version, 'audit verify --config management.yaml')).toMatchObject({ status: 0 });
      }, 60_000);

      it('restores a backup of the other version, without the keys that the other one has revoked since', () => {
        const all = ['first', 'second', 'third'];
        for (const [from, to, name] of [
          ['older', 'newer', 'third'],
          ['newer', 'older', 'second'],
        ] as const) {
          expect(run(from, `backup backup-of-${from} --config management.yaml`)).toMatchObject({ status: 0 });
          expect(run(from, `keys revoke ${name} --config management.yaml`)).toMatchObject({ status: 0 });
          expect(run(to, `restore backup-of-${from} --config management.yaml`)).toMatchObject({ status: 0 });
          all.splice(all.indexOf(name), 1);
          expect(names(to)).toEqual(all);
        }
      }, 60_000);
    });

    describe.skipIf(!hasKubectl)('of the sync', () => {
      const kubectl = (side: 'virtual' | 'host', line: string, input = '') =>
        spawnSync('kubectl', ['--kubeconfig', `${side}.kubeconfig`, ...line.split(' ')], {
          ...{ cwd: processes.folder, env: processes.environment, encoding: 'utf8', input },
        });
      const copy = () => JSON.parse(kubectl('host', 'get endpoints database-x-default-x-vc -o json').stdout || '{}');
      const settings = {
        sync: { toHost: { endpoints: { enabled: false }, endpointSlices: { enabled: false } } },
        hostward: { endpoints: { enabled: true }, leaderElection: 'never', listen: '127.0.0.1:0' },
      };

      /** Runs the daemon until the condition holds. */
      async function sync(version: Version, until: () => boolean): Promise<void> {
        const kubeconfigs = '--virtual-kubeconfig virtual.kubeconfig --host-kubeconfig host.kubeconfig';
        const line = `run --config sync.yaml --vcluster-name vc --host-namespace default ${kubeconfigs}`;
        const daemon = await processes.serve(line.split(' '), 'starting', folderOf(version));
        let holds = until();
        for (let tries = 0; !holds && tries < 200; tries++) holds = until();
        expect(holds).toBe(true);
        await daemon.stop();
      }

      it('reads what the other has stored on the host', async () => {
        processes.write('sync.yaml', JSON.stringify(settings));
        for (const side of ['virtual', 'host'] as const)
          await processes.serve(['devcluster', '--kubeconfig', `${side}.kubeconfig`], 'https://');
        // The copies belong to the Service of the virtual cluster.
        expect(kubectl('host', 'create service clusterip vc --tcp 443')).toMatchObject({ status: 0 });
        const objects = [
          { apiVersion: 'v1', kind: 'Service', metadata: { name: 'database' }, spec: { ports: [{ port: 5432 }] } },
          {
            ...{ apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'database', annotations: { note: 'a' } } },
            subsets: [{ addresses: [{ ip: '192.0.2.10' }], ports: [{ port: 5432 }] }],
          },
        ];
        kubectl('virtual', 'apply -f -', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
        await sync('older', () => copy().metadata?.annotations?.note === 'a');
        const noteOf = () =>
          kubectl('virtual', 'get endpoints database -o jsonpath={.metadata.annotations.note}').stdout;
        // A host edit made while nobody runs tells that the state of the other version was read: without it the virtual side wins.
        let before = 'a';
        for (const [version, note] of [
          ['newer', 'b'],
          ['older', 'c'],
          ['newer', 'd'],
        ] as const) {
          expect(noteOf()).toBe(before);
          kubectl('host', `annotate endpoints database-x-default-x-vc note=${note} --overwrite`);
          await sync(version, () => noteOf() === note);
          before = note;
        }
      }, 120_000);
    });
  },
);
