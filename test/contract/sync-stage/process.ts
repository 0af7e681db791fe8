// The daemon as its own process, as an operator runs it: killed in the middle of its work, stopped, or started without the
// necessary rights.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hostNamespace, type SyncBackend, until, virtualCluster } from './backend.ts';
import { roleRights, virtualRights } from './rights.ts';
import { ipsOf, SyncStage, subsetsOf } from './stage.ts';

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
const pairs = 80;

interface Running {
  child: ChildProcess;
  ended: Promise<{ code: number | null; stderr: string }>;
}

export function processSuite(backend: () => SyncBackend): void {
  describe('as a process', () => {
    let stage: SyncStage;
    let running: Running[] = [];
    beforeEach(async () => {
      stage = new SyncStage(backend());
      await stage.set();
    });
    afterEach(async () => {
      for (const { child, ended } of running) {
        child.kill('SIGKILL');
        await ended;
      }
      running = [];
      await stage.grantAll();
      await stage.clear();
      stage.close();
    });

    /** Options of both clusters and a configuration. */
    const optionsFor = (configuration: object): string[] => {
      const kubeconfigs = (['virtual', 'host'] as const).flatMap((side) => [
        `--${side}-kubeconfig`,
        stage.file(backend()[side].kubeconfig(), 'kubeconfig'),
      ]);
      const names = ['--vcluster-name', virtualCluster, '--host-namespace', hostNamespace];
      return ['-c', stage.file(JSON.stringify(configuration)), ...names, ...kubeconfigs];
    };
    const run = (leaderElection: string, more: object = {}): Running => {
      const options = optionsFor({ hostward: { leaderElection, listen: '127.0.0.1:0', ...more } });
      const child = spawn(process.execPath, [main, 'run', ...options], { stdio: ['ignore', 'ignore', 'pipe'] });
      let stderr = '';
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        stderr += text;
      });
      const ended = new Promise<{ code: number | null; stderr: string }>((resolve) => {
        child.once('close', (code) => resolve({ code, stderr }));
      });
      const one = { child, ended };
      running.push(one);
      return one;
    };
    /** A page of one object and the rest as a number: many looks at the whole list would cost more than the daemon's work. */
    const copies = async (): Promise<number> => {
      const path = `/api/v1/namespaces/${hostNamespace}/endpoints?limit=1`;
      const { items, metadata } = (await backend().host.admin.request('GET', path)).json as {
        items: object[];
        metadata: { remainingItemCount?: number };
      };
      return items.length + (metadata.remainingItemCount ?? 0);
    };

    it('a missing right ends the start with exit code 3 and a message that names the right', async () => {
      const rights = roleRights().map((right) => ({
        ...right,
        verbs: right.verbs.filter((verb) => verb !== 'delete'),
      }));
      await backend().host.grant(rights);
      await until('rights that have arrived', async () =>
        (await stage.mayDaemon('host', 'delete', 'endpoints')) ? undefined : true,
      );
      const { code, stderr } = await run('never').ended;
      expect(stderr).toContain(`not allowed to delete endpoints in namespace "${hostNamespace}"`);
      expect(code).toBe(3);
    });

    it('after several kills in the middle of its work it has lost no object and made hardly an additional write', {
      timeout: 60_000,
    }, async () => {
      for (let nth = 0; nth < pairs; nth++) await stage.pair({ name: `web-${nth}`, service: { onHost: false } });
      await stage.forgetWrites();
      for (const share of [0.2, 0.6]) {
        const { child, ended } = run('never');
        const isPart = async () => ((await copies()) >= pairs * share ? true : undefined);
        await until('a part of the copies', isPart, undefined, { isOften: true });
        child.kill('SIGKILL');
        await ended;
      }
      run('never');
      await until('all copies', async () => ((await copies()) === pairs ? true : undefined));
      const written = await stage.writes();
      const ended = (codes: RegExp) => written.filter((one) => codes.test(one)).length;
      expect(written.filter((one) => !one.startsWith('host create'))).toEqual([]);
      // kube-apiserver answers 504 when the client is gone, whether or not it stored the object.
      const abandoned = ended(/ 504$/);
      const done = written.length - ended(/ \d\d\d$/);
      expect(done).toBeLessThanOrEqual(pairs);
      expect(done).toBeGreaterThanOrEqual(pairs - abandoned);
      expect(written.length - done - abandoned).toBeLessThanOrEqual(2);

      await stage.editTenants('web-7', { subsets: subsetsOf('10.0.0.7') });
      await until('the edited address', async () =>
        ipsOf(await stage.copy('web-7'))[0] === '10.0.0.7' ? true : undefined,
      );
      expect(
        (await stage.list('virtual', 'endpoints')).filter(({ metadata }) => metadata.namespace === stage.tenant),
      ).toHaveLength(pairs);
    });

    it('doctor --active finds nothing wrong, sees both copies come, change and go, and leaves nothing behind', {
      timeout: 120_000,
    }, async () => {
      const resources = ['endpoints', 'endpointslices'];
      const verbs = ['get', 'list', 'watch', 'create', 'patch', 'delete'];
      await backend().virtual.grant([
        ...virtualRights,
        { group: '', resources: ['services', 'endpoints'], verbs },
        { group: 'discovery.k8s.io', resources: ['endpointslices'], verbs },
      ]);
      const on = { enabled: true };
      const kinds = { endpoints: on, endpointSlices: on };
      run('never', kinds);
      await stage.pair({ name: 'web' });
      await until('a copy', async () => await stage.copy('web'), 60_000);
      const own = { enabled: false };
      const options = optionsFor({
        hostward: { leaderElection: 'never', listen: '127.0.0.1:0', ...kinds },
        sync: { toHost: { endpoints: own, endpointSlices: own } },
      });
      const words = ['doctor', '--active', '-o', 'json', ...options];
      const { stdout } = await promisify(execFile)(process.execPath, [main, ...words]);
      const report: { exitCode: number; checks: { code: string; verdict: string }[] } = JSON.parse(stdout);
      const proofs = report.checks.filter(({ code }) => code.startsWith('HW-9'));
      const wanted = ['901', '902', '903', '904', '905'].map((number) => `HW-${number} ok`);
      expect([report.exitCode, proofs.map(({ code, verdict }) => `${code} ${verdict}`)]).toEqual([0, wanted]);
      const left = async () => {
        const lists = (['virtual', 'host'] as const).flatMap((side) =>
          ['services', ...resources].map((resource) => stage.list(side, resource)),
        );
        return (await Promise.all(lists)).flat().filter(({ metadata }) => metadata.name?.includes('hostward-doctor'));
      };
      // The controllers take back what they have made for it.
      await until('nothing that is left', async () => ((await left()).length === 0 ? true : undefined));
    });

    it('on SIGTERM it releases the lease and exits with 0', async () => {
      const { child, ended } = run('always');
      await stage.pair({ name: 'web' });
      await until('a copy', async () => await stage.copy('web'));
      const holder = async () => {
        const lease = await stage.get('host', 'leases', {
          namespace: hostNamespace,
          name: `hostward-${virtualCluster}`,
        });
        return (lease?.['spec'] as { holderIdentity?: string } | undefined)?.holderIdentity;
      };
      expect(await holder()).toBeTruthy();
      child.kill('SIGTERM');
      expect((await ended).code).toBe(0);
      expect((await holder()) ?? '').toBe('');
    });
  });
}
