import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubeconfigText } from '../proxy/upstream.ts';
import { keysPath, until } from './bench.ts';
import { prepareProcess, type ServingProcess } from './daemon.ts';

let server: ServingProcess;
beforeAll(async () => {
  server = await prepareProcess();
  await server.start();
}, 60_000);
afterAll(() => server.remove());

const local = (path: string) => fetch(`http://127.0.0.1:${server.operationsPort}${path}`);

describe('hostward run with nothing but a management block', () => {
  it('is ready by its part alone, and says so in its status', async () => {
    for (const path of ['/readyz', '/readyz/management']) {
      const answer = await local(path);
      expect(answer.status).toBe(200);
      expect(await answer.text()).toContain('management: serving at https://127.0.0.1');
    }
    expect((await local('/readyz/sync')).status).toBe(404);
    expect(await (await local('/status')).json()).toMatchObject({
      verdict: { isWell: true, sentence: 'the management API is serving' },
      isReady: true,
      management: { keys: { active: 1 }, watches: 0 },
    });
    expect(await (await local('/metrics')).text()).toContain('hostward_access_keys{state="active"} 1');
    expect(server.output()).not.toContain('"level":"warn"');
  });

  it('takes over users and limits from a changed file', async () => {
    const make = (name: string) => server.ask('POST', keysPath, { metadata: { name }, spec: { user: 'dora' } });
    expect(await make('early')).toMatchObject({ code: 422 });
    const config = JSON.parse(readFileSync(server.configPath, 'utf8')) as {
      hostward: { management: { users: object[]; listen: string } };
    };
    config.hostward.management.users.push({ name: 'dora' });
    writeFileSync(server.configPath, JSON.stringify(config));
    await until(async () => (await make('late')).code === 201, 'the new user', 15_000);
  }, 30_000);

  it('says in the first line of its status what somebody must mend', async () => {
    const kubeconfig = join(dirname(server.configPath), 'down.kubeconfig');
    writeFileSync(kubeconfig, kubeconfigText('http://127.0.0.1:1', 'upstream-secret'), { mode: 0o600 });
    const config = JSON.parse(readFileSync(server.configPath, 'utf8')) as {
      hostward: { management: { clusters?: object[] } };
    };
    config.hostward.management.clusters = [{ name: 'c1', kubeconfig }];
    writeFileSync(server.configPath, JSON.stringify(config));
    let text = '';
    await until(
      async () => {
        text = await (await local('/status')).text();
        return text.includes('cluster c1');
      },
      'the trouble',
      15_000,
    );
    const { verdict } = JSON.parse(text) as { verdict: { isWell: boolean; sentence: string } };
    expect(verdict.isWell).toBe(false);
    expect(verdict.sentence).toMatch(
      /^cluster c1 cannot be asked for the rights of Hostward: .*refused.*; the management API is serving$/,
    );
    expect(text).not.toContain('upstream-secret');
    expect((await local('/readyz')).status).toBe(200);
  }, 30_000);

  it('never logs the value of a key', () => {
    expect(server.output()).not.toContain(server.admin.slice(22));
  });
});
