// The rights of config/role.yaml are sufficient and all necessary: when one is missing, the daemon names it.
import { afterEach, describe, expect, it } from 'vitest';
import { Interferer } from '../interferer.ts';
import { stageForEach } from '../stage-for-each.ts';
import { hostNamespace, type Right, type SyncBackend, until } from '../sync-stage/backend.ts';
import { roleRights, virtualRights } from '../sync-stage/rights.ts';
import { ipsOf, type SyncStage, subsetsOf } from '../sync-stage/stage.ts';

export function rightsSuite(backend: () => SyncBackend): void {
  describe('rights', () => {
    let stage: SyncStage;
    stageForEach(backend, (made) => {
      stage = made;
    });
    afterEach(() => stage.grantAll());

    it('with exactly the rights of role.yaml no request is forbidden', async () => {
      await stage.create('host', 'endpoints', {
        metadata: stage.at('native'),
        subsets: subsetsOf('192.168.0.1'),
      } as never);
      for (const name of ['web', 'api', 'native']) await stage.pair({ name, metadata: { labels: { app: 'x' } } });
      const daemon = await stage.daemon({
        config: { hostward: { leaderElection: 'always', addressPolicy: { deny: ['10.66.0.0/16'] } } },
      });
      await until('a leader', () => (daemon.status.leadership === 'leading' ? true : undefined));
      await daemon.settled();
      expect(ipsOf(await stage.copy('native'))).toEqual(['10.0.0.1']);
      await stage.editTenants('web', { subsets: subsetsOf('10.66.0.1') });
      await stage.editCopy('api', { metadata: { labels: { app: 'h' } } });
      await daemon.settled();
      await stage.removeTenants('api');
      await daemon.settled();
      await until('an event', async () =>
        (await stage.events('web')).find(({ reason }) => reason === 'AddressRefused'),
      );
      await daemon.stop();
      expect(await stage.forbidden()).toEqual([]);
      const used = new Set(
        (await backend().host.requests())
          .filter(({ resource }) => resource !== 'namespaces')
          .map(({ verb, resource }) => `${verb} ${resource}`),
      );
      expect([...used]).toEqual(
        expect.arrayContaining([
          'create endpoints',
          'patch endpoints',
          'delete endpoints',
          'list endpoints',
          'get services',
          'create leases',
          'update leases',
        ]),
      );
    });

    const without = (rights: readonly Right[], resource: string, verb: string): Right[] =>
      rights.map((right) =>
        right.resources.includes(resource) ? { ...right, verbs: right.verbs.filter((one) => one !== verb) } : right,
      );

    const needed: [string, string, string][] = [
      ...['get', 'list', 'watch', 'create', 'patch', 'delete'].map((verb): [string, string, string] => [
        'host',
        'endpoints',
        verb,
      ]),
      ...['get', 'list', 'watch'].map((verb): [string, string, string] => ['host', 'services', verb]),
      ...['get', 'create', 'update'].map((verb): [string, string, string] => ['host', 'leases', verb]),
      ...['get', 'list', 'watch', 'patch'].map((verb): [string, string, string] => ['virtual', 'endpoints', verb]),
      ...['get', 'list', 'watch'].map((verb): [string, string, string] => ['virtual', 'services', verb]),
    ];

    it('when one right is missing the start fails and names cluster, verb, resource and namespace', async () => {
      for (const [side, resource, verb] of needed) {
        await backend()[side as 'virtual' | 'host'].grant(
          without(side === 'host' ? roleRights() : virtualRights, resource, verb),
        );
        // A real API server learns of changed rights through a watch, so they take effect late.
        const faults = await until(`a fault for ${verb} ${resource}`, async () => {
          const started = await stage.assemble({ config: { hostward: { leaderElection: 'always' } } }).startOnce();
          return started.kind === 'faults' ? started.faults : undefined;
        });
        const where = side === 'host' ? `in namespace "${hostNamespace}"` : 'in all namespaces';
        const full = resource === 'leases' ? 'leases.coordination.k8s.io' : resource;
        expect(faults.map(({ message }) => message)).toEqual([
          `checking rights on the ${side} cluster: not allowed to ${verb} ${full} ${where}`,
        ]);
        await stage.grantAll();
      }
    });

    it('when all rights are missing the start names all of them at once, those of the host namespace in one sentence', async () => {
      await backend().host.grant([]);
      await backend().virtual.grant([]);
      const ofVirtual = needed
        .filter(([side]) => side === 'virtual')
        .map(
          ([, resource, verb]) =>
            `checking rights on the virtual cluster: not allowed to ${verb} ${resource} in all namespaces`,
        );
      const messages = await until('all faults', async () => {
        const started = await stage.assemble({ config: { hostward: { leaderElection: 'always' } } }).startOnce();
        const said = started.kind === 'faults' ? started.faults.map(({ message }) => message) : [];
        const isWhole =
          said.some((one) => one.includes('has none of the')) && ofVirtual.every((one) => said.includes(one));
        return isWhole ? said : undefined;
      });
      const inOne = `has none of the \\d+ rights that it needs in namespace "${hostNamespace}": it is being deleted or`;
      expect(messages.filter((one) => one.includes('on the host cluster'))).toEqual([
        expect.stringMatching(new RegExp(inOne)),
      ]);
    });

    it('when rights are revoked at runtime, no copy is deleted, readiness names it, and sync recovers with the rights', async () => {
      const interferer = await new Interferer(backend().host).start();
      for (const name of ['web', 'api']) await stage.pair({ name });
      const daemon = await stage.daemon({ via: { host: interferer.at } });
      await backend().host.grant([]);
      await until('the end of the rights', async () => {
        const answer = await stage.probe('host', 'endpoints');
        return answer === 403 || undefined;
      });
      interferer.cut();
      await stage.editTenants('web', { subsets: subsetsOf('10.0.2.1') });
      await until('a refused object', () => daemon.of('web')?.state === 'refused/Forbidden' || undefined);
      await daemon.clock.jump(30_000);
      await until('a window in trouble', () =>
        daemon.readiness.find((line) => line.includes('host endpoints') && line.includes('(')),
      );
      expect(await stage.copy('api')).toBeDefined();
      expect(ipsOf(await stage.copy('web'))).toEqual(['10.0.0.1']);
      await backend().host.grant(roleRights());
      await until('rights are back', async () => {
        await daemon.clock.jump(61_000);
        return ipsOf(await stage.copy('web'))[0] === '10.0.2.1' || undefined;
      });
      await daemon.settled();
      expect(await stage.tenants('web')).toBeDefined();
      await daemon.stop();
      await interferer.stop();
    });
  });
}
