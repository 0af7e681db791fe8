import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { mkdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { story } from '../../../src/cli/demo/demo-story.ts';
import type { Context } from '../../../src/cli/line/context.ts';
import { systemClock } from '../../../src/clock.ts';
import { daemonModule } from '../../../src/daemon/daemon.ts';
import { startDevcluster } from '../../../src/devcluster/devcluster.ts';
import { silentLog } from '../../../src/log.ts';
import { kubeAssets } from '../../kube/start/assets.ts';
import { settle } from '../../virtual-clock.ts';
import { type Scene, scene } from '../scene.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'hostward-demo-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Uses real files, real time and the real daemon; only the process is simulated. */
function real(on: Scene): Context {
  const files: Context['files'] = {
    ...on.context.files,
    read: (path) => readFile(path, 'utf8'),
    write: (path, text, { mode = 0o644 } = {}) => writeFile(path, text, { mode }),
    makeFolder: async (path) => void (await mkdir(path, { recursive: true })),
    remove: (path) => rm(path, { force: true }),
    removeEmptyFolder: (path) => rmdir(path).catch(() => undefined),
    removeFolder: (path) => rm(path, { force: true, recursive: true }),
  };
  return {
    ...on.context,
    cwd: folder,
    files,
    clock: systemClock,
    random: Math.random,
    nodePath: process.execPath,
    packageFolder: fileURLToPath(new URL('../../../', import.meta.url)),
    loadDaemon: async () => daemonModule,
  };
}

const assets = kubeAssets();

/** As in the terminal of a newcomer, in a folder where npx knows no hostward. */
function inShell(script: string): Promise<{ code: number | null; out: string }> {
  const tools = assets.found?.folder ?? folder;
  const { NODE_COMPILE_CACHE } = process.env;
  const environment = { PATH: `${folder}:${tools}:${process.env['PATH']}`, HOME: folder, NODE_COMPILE_CACHE };
  const child = spawn('/bin/sh', ['-e', '-c', script], { cwd: folder, env: environment });
  let out = '';
  child.stdout.on('data', (part) => (out += part));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out }));
  });
}

async function until(isTrue: () => boolean): Promise<void> {
  const endMs = performance.now() + 15_000;
  while (!isTrue() && performance.now() < endMs) await settle(1);
  expect(isTrue()).toBe(true);
}

describe('hostward demo', { timeout: 60_000 }, () => {
  it('plays its story between two embedded clusters, and every step passes', async () => {
    const on = scene();
    const code = await runCommandLine(real(on), ['demo', '--once', '-o', 'json']);
    const steps = on
      .out()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(steps.flatMap((step) => step.differences)).toEqual([]);
    expect(steps).toHaveLength(story.length);
    expect([code, on.err()]).toEqual([0, '']);
    expect(readdirSync(folder)).not.toContain('.hostward');
  }, 60_000);

  // One demo for what its commands do: a start of three servers is most of the time of each.
  describe('while it runs', () => {
    const on = scene();
    let end: Promise<number>;
    beforeAll(async () => {
      end = runCommandLine(real(on), ['demo']);
      await until(() => on.out().includes('in sync after'));
    });
    afterAll(async () => {
      on.send('stop');
      await end;
    });

    it('makes, shows and disables an access key with the five commands that it prints', async () => {
      const commands = /disable it:\n((?:.+\n){5})/.exec(on.out())?.[1]?.trim().split('\n') ?? [];
      for (const line of commands) expect(line.length).toBeLessThanOrEqual(80);
      const [enter, create, kubeconfig, look, disable] = commands;
      const made = await inShell([enter, create].join('\n'));
      const key = readFileSync(join(folder, '.hostward', 'me.key'), 'utf8');
      expect([made.code, /^mpk_\S+\n$/.test(key)]).toEqual([0, true]);
      if (assets.found !== undefined) {
        expect(look).toBe('kubectl get ownedaccesskeys');
        const looked = await inShell([enter, kubeconfig, look].join('\n'));
        expect(looked).toMatchObject({ code: 0, out: expect.stringMatching(/^me +admin +Active +/m) });
        expect((await inShell([enter, kubeconfig, disable].join('\n'))).out).toContain('patched');
        const refused = await inShell([enter, kubeconfig, `${look} 2>&1`].join('\n'));
        expect(refused).toEqual({ code: 1, out: expect.stringContaining('the access key is disabled') });
      }
    });

    it('leads into the virtual cluster and the host with the commands that it prints', async () => {
      const commands = /make a direct token and use it:\n((?:.+\n){6})/.exec(on.out())?.[1]?.trim().split('\n') ?? [];
      for (const line of commands) expect(line.length).toBeLessThanOrEqual(80);
      const [enter, fetch] = commands;
      expect((await inShell([enter, fetch].join('\n'))).code).toBe(0);
      expect(readFileSync(join(folder, '.hostward', 'mine.kubeconfig'), 'utf8')).toContain('/virtualcluster/demo');
      if (assets.found !== undefined) {
        const typed = await inShell(commands.join('\n'));
        expect(typed).toMatchObject({ code: 0, out: expect.stringMatching(/^payments +mainframe +10\./m) });
        expect(typed.out).toMatch(/^vcluster-demo +Active +/m);
        const disable = `KUBECONFIG=keys.kubeconfig kubectl patch oak alice --type merge -p '{"spec":{"disabled":true}}'`;
        await inShell(`.hostward/hostward keys create other --admin -c .hostward/keys.yaml > .hostward/me.key`);
        expect((await inShell([enter, disable].join('\n'))).out).toContain('patched');
        const refused = await inShell([enter, `${commands.at(-1)} 2>&1`].join('\n'));
        expect(refused).toMatchObject({
          code: 1,
          out: expect.stringContaining('the access key of the token was changed, disabled'),
        });
      }
    });

    it('prints changes as lines until a stop signal, ends with 0, and leaves nothing behind', async () => {
      expect(on.out()).toContain(
        `cd ${join(folder, '.hostward')}\nkubectl --kubeconfig virtual.kubeconfig get endpoints -A\n`,
      );
      on.send('stop');
      on.send('stop');
      expect(await end).toBe(0);
      expect(on.out()).toMatch(/\d+ changes arrived; lag from watch to watch: median .* ms/);
      expect(readdirSync(folder)).not.toContain('.hostward');
    });
  });

  it('keeps the kubeconfigs of a running demo, and prints its own', async () => {
    const [first, second] = [scene(), scene()];
    const ends = [runCommandLine(real(first), ['demo'])];
    await until(() => first.out().includes('in sync after'));
    const own = join(folder, '.hostward', 'virtual.kubeconfig');
    expect(statSync(own).mode & 0o777).toBe(0o600);
    const written = readFileSync(own, 'utf8');
    ends.push(runCommandLine(real(second), ['demo']));
    await until(() => second.out().includes('in sync after'));
    expect(readFileSync(own, 'utf8')).toBe(written);
    expect(second.out()).toContain(`cd ${join(folder, '.hostward', '2')}\n`);
    for (const side of ['virtual', 'host']) {
      expect(second.out()).toContain(`kubectl --kubeconfig ${side}.kubeconfig get `);
      expect(readFileSync(join(folder, '.hostward', '2', `${side}.kubeconfig`), 'utf8')).not.toBe(written);
    }
    for (const line of second.out().match(/^kubectl .*$/gm) ?? []) expect(line.length).toBeLessThanOrEqual(80);
    first.send('stop');
    second.send('stop');
    expect(await Promise.all(ends)).toEqual([0, 0]);
    expect(readdirSync(folder)).not.toContain('.hostward');
  }, 60_000);

  it('reuses the folder of a killed demo, and removes what is its own at the end', async () => {
    const server = await startDevcluster({ name: 'virtual', clock: systemClock, log: silentLog });
    await server.stop();
    await mkdir(join(folder, '.hostward'));
    await writeFile(join(folder, '.hostward', 'virtual.kubeconfig'), server.kubeconfig);
    await writeFile(join(folder, '.hostward', 'notes'), 'of somebody else');
    const on = scene();
    expect(await runCommandLine(real(on), ['demo', '--once'])).toBe(0);
    expect(on.out()).not.toContain('kube');
    expect(on.out()).toContain(`all ${story.length} steps passed\n`);
    expect(readdirSync(join(folder, '.hostward'))).toEqual(['notes']);
    await rm(join(folder, '.hostward'), { recursive: true });
  }, 60_000);

  it('quotes a folder with a space in its commands, and removes it when the terminal is closed', async () => {
    const on = scene();
    const end = runCommandLine(real(on), ['demo', '--folder', 'my demo']);
    await until(() => on.out().includes('in sync after'));
    const enter = `cd '${join(folder, 'my demo')}'`;
    expect(on.out()).toContain(`${enter}\nkubectl --kubeconfig virtual.kubeconfig`);
    const exported = /^export KUBECONFIG=.*$/m.exec(on.out())?.[0];
    expect((await inShell(`${enter}\n${exported}\ntest -s "$KUBECONFIG"`)).code).toBe(0);
    on.send('leave');
    expect(await end).toBe(0);
    expect(readdirSync(folder)).not.toContain('my demo');
  }, 60_000);

  it.each([60, 0])(
    'draws a table on a terminal of %i columns, cuts no command off, and restores the terminal',
    async (columns) => {
      const on = scene({ columns });
      const end = runCommandLine(real(on), ['demo']);
      await until(() => on.out().includes('in sync'));
      on.send('resize');
      on.send('stop');
      expect(await end).toBe(0);
      expect(on.out()).toContain('VIRTUAL OBJECT');
      if (columns === 60) expect(on.out()).toMatch(/More commands at \d+ columns and 44 rows\. Ctrl-C ends it\./);
      expect(on.out().includes('kubectl')).toBe(columns !== 60);
      expect(on.out().indexOf('?1049l')).toBeGreaterThan(on.out().lastIndexOf('VIRTUAL OBJECT'));
    },
    60_000,
  );
});
