// Rule 16: only one of two daemons writes. Each daemon has its own interferers, which count its writes and can cut it off, and
// its own clock, which a test can advance.
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import type { Interference, Interferer } from '../interferer.ts';
import { interferedStageForEach } from '../stage-for-each.ts';
import { hostNamespace, type SyncBackend, until } from '../sync-stage/backend.ts';
import type { LiveDaemon } from '../sync-stage/daemon.ts';
import { ipsOf, type SyncStage, subsetsOf } from '../sync-stage/stage.ts';

interface Candidate {
  daemon: LiveDaemon;
  host: Interferer;
  virtual: Interferer;
}

const config = { hostward: { leaderElection: 'always' } };
/** The duration of the lease. */
const leaseMs = 15_000;

export function leadershipSuite(backend: () => SyncBackend): void {
  describe('leadership', () => {
    let stage: SyncStage;
    const interferers = interferedStageForEach(backend, (made) => {
      stage = made;
    });

    const candidate = async (name: string, options = {}): Promise<Candidate> => {
      const host = await interferers.before(backend().host);
      const virtual = await interferers.before(backend().virtual);
      const via = { host: host.at, virtual: virtual.at };
      const daemon = await stage.daemon({ config, via, environment: { POD_NAME: name }, ...options });
      return { daemon, host, virtual };
    };
    const leads = (one: Candidate) =>
      until('a leader', () => (one.daemon.status.leadership === 'leading' ? true : undefined));
    /** Its clock goes on with each look: a busy machine may show it the lease late, and from then on it waits for the end of the lease. */
    const takesOver = (one: Candidate) =>
      until('a leader after the lease', async () => {
        if (one.daemon.status.leadership === 'leading') return true;
        await one.daemon.clock.jump(100);
        return undefined;
      });
    /** All clocks go on together, or a standby would take a leader for one that has stopped. */
    const goOn = (...all: Candidate[]) => Promise.all(all.map(({ daemon }) => daemon.clock.jump(500)));
    const written = (one: Candidate): string[] => [...one.host.writes(), ...one.virtual.writes()];
    const ip = async (name: string) => ipsOf(await stage.copy(name))[0];
    const serves = (name: string, wanted: string) =>
      until(`${name} at ${wanted}`, async () => ((await ip(name)) === wanted ? true : undefined));
    /** Starts a single candidate that leads and has synced one object. */
    const leaderOfWeb = async (): Promise<Candidate> => {
      await stage.pair({ name: 'web' });
      const first = await candidate('first');
      await leads(first);
      await serves('web', '10.0.0.1');
      return first;
    };

    it('a daemon that takes no lease says so, as long as another one holds it', async () => {
      const first = await leaderOfWeb();
      const { daemon } = await candidate('second', { config: { hostward: { leaderElection: 'never' } } });
      const said = () => daemon.readiness.find((line) => line.includes('two daemons may write'));
      expect(said()).toMatch(/^"first_\w+" holds the lease [^ ]+, and this daemon takes none/);
      expect(daemon.logged.find(({ msg }) => msg === 'this looks wrong')?.['warning']).toBe(said());
      expect(daemon.status.verdict).toMatchObject({ isWell: false, sentence: expect.stringContaining(said() ?? '') });
      await first.daemon.stop();
      await daemon.clock.jump(60_000);
      await until('the end of the warning', async () => (said() === undefined ? true : undefined));
      expect(daemon.logged.some(({ msg }) => msg === 'this is over')).toBe(true);
      expect(daemon.status.verdict).toMatchObject({ isWell: true });
    });

    it('two daemons without a lease and with different patches name each other', async () => {
      const writer = (value: string) => ({
        config: {
          hostward: { leaderElection: 'never' },
          sync: {
            toHost: { endpoints: { patches: [{ path: 'metadata.annotations["a"]', expression: `"${value}"` }] } },
          },
        },
      });
      await stage.pair({ name: 'web', metadata: { annotations: { a: '0' } } });
      const { daemon: first } = await candidate('first', writer('1'));
      const { daemon: second } = await candidate('second', writer('2'));
      await until('a contest', async () => {
        await Promise.all([first.clock.jump(1_000), second.clock.jump(1_000)]);
        return [first, second].some(({ status }) => status.contested.length > 0) ? true : undefined;
      });
      const named = [first, second].flatMap(({ status }) => status.contested.map(({ by }) => by));
      expect([...new Set(named)]).toEqual(['a second Hostward or a webhook']);
      const told = [first, second].flatMap(({ logged }) => logged.filter(({ msg }) => msg === 'object is contested'));
      expect(told[0]?.['manager']).toBe('a second Hostward or a webhook');
    });

    it('the first candidate leads and writes; the second follows the clusters and writes nothing', async () => {
      await stage.pair({ name: 'web' });
      const first = await candidate('first');
      await leads(first);
      const second = await candidate('second');
      expect(second.daemon.status.leadership).toMatch(/^standby behind first_/);
      await serves('web', '10.0.0.1');
      for (let round = 2; round < 6; round++) {
        await stage.editTenants('web', { subsets: subsetsOf(`10.0.0.${round}`) });
        await serves('web', `10.0.0.${round}`);
      }
      await stage.editCopy('web', { metadata: { labels: { own: 'h' } } });
      await first.daemon.settled();
      await second.daemon.settled();
      expect(written(second)).toEqual([]);
      expect(written(first)).toHaveLength(7);
      expect(second.daemon.of('web')?.hostObject).toBeDefined();
    });

    it('a graceful stop hands over at once, and no change is written twice', async () => {
      const first = await leaderOfWeb();
      const second = await candidate('second');
      await first.daemon.stop();
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.2') });
      // A standby checks the lease once a second; waiting for its end would take fifteen.
      await second.daemon.clock.jump(1500);
      await leads(second);
      await serves('web', '10.0.0.2');
      await second.daemon.settled();
      expect(written(second)).toEqual([expect.stringContaining('PATCH web-x-')]);
    });

    it('after a crash the standby leads when the lease has expired, not before', async () => {
      const first = await leaderOfWeb();
      const second = await candidate('second');
      await second.daemon.clock.jump(2000);
      cutOff(first);
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.2') });
      await second.daemon.clock.jump(leaseMs - 4000);
      expect(second.daemon.status.leadership).toMatch(/^standby/);
      expect(await ip('web')).toBe('10.0.0.1');
      await second.daemon.clock.jump(7000);
      await takesOver(second);
      await serves('web', '10.0.0.2');
    });

    it('a leader that cannot renew stops writing when its lease expires, even without a successor', async () => {
      const first = await leaderOfWeb();
      first.host.rule = ({ resource }) => (resource === 'leases' ? 'drop' : 'pass');
      await first.daemon.clock.jump(leaseMs);
      expect(first.daemon.status.leadership).toMatch(/^standby/);
      first.host.seen.length = 0;
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.2') });
      await stage.editCopy('web', { metadata: { labels: { own: 'h' } } });
      await until('a change that is seen but not written', async () => {
        const current = await stage.tenants('web');
        return first.daemon.of('web')?.virtual === `resourceVersion ${current?.metadata.resourceVersion}` || undefined;
      });
      await first.daemon.clock.jump(3000);
      expect(written(first).filter((one) => !one.startsWith('POST'))).toEqual([]);
      expect(await ip('web')).toBe('10.0.0.1');
      first.host.rule = () => 'pass';
      await first.daemon.clock.jump(4000);
      await takesOver(first);
      await serves('web', '10.0.0.2');
      await until('the edit of the host', async () => (await stage.tenants('web'))?.metadata.labels?.['own']);
    });

    it('writes that still wait when the lease expires are never sent', async () => {
      const slow = { hostward: { leaderElection: 'always', maxWritesPerSecond: 1 } };
      const first = await candidate('first', { config: slow });
      await leads(first);
      const names = Array.from({ length: 40 }, (_, at) => `web-${at}`);
      await Promise.all(names.map((name) => stage.pair({ name, service: { onHost: false } })));
      await until('the first write', () => (first.host.writes().length > 0 ? true : undefined));
      first.host.rule = ({ resource }) => (resource === 'leases' ? 'drop' : 'pass');
      await first.daemon.clock.jump(leaseMs);
      const sent = first.host.writes().length;
      expect(sent).toBeLessThan(names.length / 2);
      await first.daemon.clock.jump(60_000);
      expect(first.host.writes()).toHaveLength(sent);
      first.host.rule = () => 'pass';
      await first.daemon.clock.jump(60_000);
      // With one write a second, and a lease that returned late in the jump, the rest needs more time.
      await until('the other copies', async () => {
        await first.daemon.clock.jump(2000);
        const copies = await stage.list('host', 'endpoints');
        return copies.filter(({ metadata }) => metadata.name?.startsWith('web-')).length === names.length || undefined;
      });
    });

    it('a former leader that was cut off finds the new leader and writes nothing', async () => {
      const first = await leaderOfWeb();
      const second = await candidate('second');
      await second.daemon.clock.jump(2000);
      cutOff(first);
      await Promise.all([first.daemon.clock.jump(leaseMs + 3000), second.daemon.clock.jump(leaseMs + 3000)]);
      await takesOver(second);
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.3') });
      await serves('web', '10.0.0.3');
      first.host.seen.length = 0;
      first.virtual.seen.length = 0;
      for (const interferer of [first.host, first.virtual]) interferer.rule = () => 'pass';
      await Promise.all([first.daemon.clock.jump(30_000), second.daemon.clock.jump(30_000)]);
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.4') });
      await serves('web', '10.0.0.4');
      await first.daemon.settled(() => goOn(first, second));
      expect(first.daemon.status.leadership).toMatch(/^standby behind second_/);
      expect(written(first)).toEqual([]);
    });

    it('the server refuses a delayed write of a former leader', async () => {
      const first = await leaderOfWeb();
      const second = await candidate('second');
      await second.daemon.clock.jump(2000);
      let release: (how: 'pass') => void = () => {};
      const held = new Promise<void>((resolve) => {
        first.host.rule = ({ method, resource }) => {
          if (resource === 'leases') return 'drop';
          if (method !== 'PATCH' || resource !== 'endpoints') return 'pass';
          resolve();
          return new Promise((free) => {
            release = free;
          });
        };
      });
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.2') });
      await held;
      await second.daemon.clock.jump(leaseMs + 3000);
      await takesOver(second);
      await serves('web', '10.0.0.2');
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.3') });
      await serves('web', '10.0.0.3');
      release('pass');
      await second.daemon.settled();
      expect(await ip('web')).toBe('10.0.0.3');
    });

    it('a deleted lease is recreated, and there are never two leaders', async () => {
      await stage.pair({ name: 'web' });
      const first = await candidate('first');
      await leads(first);
      const second = await candidate('second');
      await stage.remove('host', 'leases', { namespace: hostNamespace, name: 'hostward-vc' });
      for (let second_ = 0; second_ < 30; second_++) {
        await Promise.all([first.daemon.clock.jump(500), second.daemon.clock.jump(500)]);
        const leaders = [first, second].filter(({ daemon }) => daemon.status.leadership === 'leading');
        expect(leaders.length).toBeLessThanOrEqual(1);
      }
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.2') });
      await Promise.all([first.daemon.clock.jump(leaseMs), second.daemon.clock.jump(leaseMs)]);
      await serves('web', '10.0.0.2');
    });

    /** Two daemons without a lease. A write leaves when both have seen what is on both sides, so that none of them writes what is old. */
    const agreeing = async (): Promise<readonly [LiveDaemon, LiveDaemon]> => {
      const made: LiveDaemon[] = [];
      const versionOf = (object: KubeObject | undefined): string =>
        object === undefined ? 'missing' : `resourceVersion ${object.metadata.resourceVersion}`;
      const haveSeen = async (): Promise<true | undefined> => {
        const [virtual, host] = [await stage.tenants('web'), await stage.copy('web')].map(versionOf);
        return made.every((one) => one.of('web')?.virtual === virtual && one.of('web')?.host === host) || undefined;
      };
      for (const name of ['one', 'other']) {
        const { daemon, ...sides } = await candidate(name, { config: { hostward: { leaderElection: 'never' } } });
        for (const side of Object.values(sides))
          side.rule = async ({ isWrite, resource }): Promise<Interference> => {
            if (isWrite && resource === 'endpoints') await until('two daemons that have seen all', haveSeen);
            return 'pass';
          };
        made.push(daemon);
      }
      return made as [LiveDaemon, LiveDaemon];
    };
    const successes = async (): Promise<string[]> =>
      (await stage.writes()).filter((written_) => !/ [45]\d\d$/.test(written_));

    it('two daemons without a lease that have seen the same agree: each change is written once, and no value alternates', async () => {
      const [one, other] = await agreeing();
      await stage.pair({ name: 'web', metadata: { labels: { app: '0' } } });
      await one.settled();
      await other.settled();
      const edits = 12;
      for (let round = 1; round <= edits; round++) {
        if (round % 3 === 0) await stage.editCopy('web', { metadata: { labels: { app: `h${round}` } } });
        else await stage.editTenants('web', { subsets: subsetsOf(`10.0.0.${round}`) });
        await one.settled();
        await other.settled();
      }
      expect(await ip('web')).toBe(`10.0.0.${edits - 1}`);
      expect((await stage.tenants('web'))?.metadata.labels?.['app']).toBe(`h${edits}`);
      expect((await successes()).length).toBeLessThanOrEqual(1 + edits + edits / 3);
      await stage.forgetWrites();
      await Promise.all([one.clock.jump(20_000), other.clock.jump(20_000)]);
      expect(await stage.writes()).toEqual([]);
      expect([...one.status.contested, ...other.status.contested]).toEqual([]);
    });

    // Nothing on the host says which version of the tenant's object a copy was made from. That is what the lease is for.
    it('of two daemons without a lease one that sees the tenant late brings an old value back, until it has seen the new one', async () => {
      const one = await stage.daemon();
      const late = await candidate('late', { config: { hostward: { leaderElection: 'never' } } });
      await stage.pair({ name: 'web' });
      await one.settled();
      await late.daemon.settled();
      await stage.forgetWrites();
      const hear = late.virtual.mute('endpoints');
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.2') });
      await until('the new value, and the old one over it', async () => (await successes()).length >= 2 || undefined);
      hear();
      await serves('web', '10.0.0.2');
      await one.settled();
      await late.daemon.settled();
      expect(await ip('web')).toBe('10.0.0.2');
    });

    it('never: a single daemon creates no lease', async () => {
      await stage.pair({ name: 'web' });
      const daemon = await stage.daemon();
      expect(daemon.status.leadership).toBe('alone');
      expect(await stage.get('host', 'leases', { namespace: hostNamespace, name: 'hostward-vc' })).toBeUndefined();
    });

    it('auto: a configuration with more than one replica uses a lease', async () => {
      const highAvailability = { highAvailability: { replicas: 3 } };
      const auto = { hostward: { leaderElection: 'auto' }, controlPlane: { statefulSet: highAvailability } };
      const one = await candidate('one', { config: auto });
      await leads(one);
      expect(await stage.get('host', 'leases', { namespace: hostNamespace, name: 'hostward-vc' })).toBeDefined();
    });

    it('a dry run writes nothing, needs no lease, and lists every difference', async () => {
      await stage.pair({ name: 'web' });
      const one = await candidate('dry', { isDryRun: true });
      expect(written(one)).toEqual([]);
      expect(one.daemon.status.differences).toMatchObject([{ object: `${stage.tenant}/web`, request: 'host create' }]);
    });
  });
}

function cutOff({ host, virtual }: Candidate): void {
  for (const interferer of [host, virtual]) {
    interferer.rule = () => 'drop';
    interferer.cut();
  }
}
