import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Clock, systemClock } from '../../../src/clock.ts';
import { Stage } from './stage.ts';

const stage = new Stage();
beforeAll(() => stage.start());
afterAll(() => stage.stop());
afterEach(() => {
  stage.answers = [];
  stage.heard = () => {};
});

describe('hostward doctor with a cluster that answers at first and then no more', () => {
  it.each([
    ['virtual', 'HW-205', ['HW-305', 'HW-501', 'HW-503', 'HW-507']],
    ['host', 'HW-311', ['HW-306', 'HW-308', 'HW-502', 'HW-504', 'HW-310', 'HW-402', 'HW-602']],
  ] as const)('makes one finding of it, names no right of the %s, and ends with 3', async (side, code, hidden) => {
    let isAsked = false;
    stage.heard = (of, _, path) => {
      if (of !== side || (path === '/version' && !isAsked)) return;
      isAsked = true;
      stage.answers = [{ side, resource: '*', code: 0 }];
    };
    const found = await stage.findings([]);
    expect(found.checks.filter(({ verdict }) => verdict === 'fault').map((one) => one.code)).toEqual([code]);
    expect(found.of(code)?.says).toContain(`the ${side} cluster answered at first, and then no more: GET /api`);
    for (const one of hidden) expect(found.hidden).toContainEqual({ code: one, because: code });
    expect(found.code).toBe(3);
    const { out, err, code: exit } = await stage.doctor(['--rights', side]);
    expect([out, exit]).toEqual(['', 3]);
    expect(err).toContain(`HW-${side === 'host' ? 301 : 201}`);
  });

  it('says in the last lines which checks were not made', async () => {
    stage.heard = (side, _, path) => {
      if (side === 'host' && path.includes('/namespaces/')) stage.answers = [{ side, resource: '*', code: 0 }];
    };
    const { out } = await stage.doctor([]);
    expect(out).toMatch(/\n\d+ checks were not made, because they need HW-311: HW-305, HW-306, /);
  });

  it('says that nothing else was looked at when the configuration cannot be used', async () => {
    const { out } = await stage.doctor([], { text: 'hostward: {nothing: 1}' });
    expect(out).toContain('no other check was made, because all of them need HW-101');
  });
});

describe('hostward doctor with a cluster that gives no answer from the first question on', () => {
  it.each([
    ['refuses the connection', 'https://127.0.0.1:1', 'connection refused'],
    ['has a name that nobody knows', 'https://nowhere.invalid:6443', 'nowhere.invalid'],
  ])('%s', async (_, server, says) => {
    const file = parse(readFileSync(stage.path('host'), 'utf8'));
    file.clusters[0].cluster.server = server;
    const host = stage.path('unreachable');
    await writeFile(host, JSON.stringify(file), { mode: 0o600 });
    const { code, checks, of } = await stage.findings([], { kubeconfigs: { host } });
    expect(checks.filter(({ verdict }) => verdict === 'fault').map((one) => one.code)).toEqual(['HW-301']);
    expect(of('HW-301')?.says).toContain(says);
    expect(code).toBe(3);
  });
});

describe('hostward doctor --wait', () => {
  /** At the first pause of two seconds the cluster is well again. */
  const mendedAtPause = () => {
    const pauses: number[] = [];
    const clock: Clock = {
      ...systemClock,
      now: () => systemClock.now(),
      after(delayMs, run) {
        if (delayMs !== 2_000) return systemClock.after(delayMs, run);
        pauses.push(delayMs);
        stage.answers = [];
        return systemClock.after(0, run);
      },
    };
    return { clock, pauses };
  };

  it('looks again when a question got no answer, although nothing is at fault', async () => {
    stage.answers = [{ side: 'host', resource: 'selfsubjectaccessreviews', code: 500 }];
    const first = await stage.findings([]);
    expect([first.code, first.of('HW-502')?.verdict]).toEqual([0, 'couldNotCheck']);
    const { clock, pauses } = mendedAtPause();
    const { code, of } = await stage.findings(['--wait', '5m'], { clock });
    expect([code, of('HW-502')?.verdict, pauses.length]).toEqual([0, 'ok', 1]);
  });

  it('asks again for the rights that --rights prints', async () => {
    stage.answers = [{ side: 'host', resource: 'selfsubjectaccessreviews', code: 500 }];
    const first = await stage.doctor(['--rights', 'host']);
    expect([first.code, first.err]).toEqual([3, expect.stringContaining('got no verdict')]);
    const { clock, pauses } = mendedAtPause();
    const { code, err } = await stage.doctor(['--rights', 'host', '--wait', '5m'], { clock });
    expect([code, err, pauses.length]).toEqual([0, 'no right is known to be missing in the host cluster\n', 1]);
  });
});

describe('hostward doctor before and after an installation at once', () => {
  it.each([['--pre'], ['--manifests', '-']])('%s with --active is a wrong command line', async (...args) => {
    const { code, out, err } = await stage.doctor([...args, '--active']);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(`${args[0]} asks before an installation, and --active proves one that runs`);
  });
});

describe('HW-401', () => {
  it.each([
    ['without a configuration', { drop: ['--config'] }],
    ['with settings of our own alone', { text: 'hostward: {leaderElection: never}' }],
  ])('could not be checked %s, because vCluster syncs both kinds by default', async (_, run) => {
    const { of } = await stage.findings([], run);
    expect(of('HW-401')).toMatchObject({ verdict: 'couldNotCheck' });
  });
});
