// The page about pipelines does what it says: its files and its commands run as they are written there, in a shell, against a server.
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keysPath } from '../../management/server/bench.ts';
import { configuration, type KeysBench, openKeysBench } from './keys-bench.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const page = readFileSync(join(root, 'docs/keys.md'), 'utf8');
const blocks = [...page.matchAll(/```(\w+)\n(.*?)```/gs)].map(([, kind, text]) => ({ kind, text: text as string }));
const scripts = blocks.filter(({ kind }) => kind === 'sh').map(({ text }) => text);

let bench: KeysBench;
let folder: string;

beforeAll(async () => {
  bench = await openKeysBench();
  folder = mkdtempSync(join(tmpdir(), 'hostward-pipeline-'));
  for (const { kind, text } of blocks) {
    const name = /^# (\S+\.yaml)\n/.exec(text)?.[1];
    if (kind === 'yaml' && name !== undefined) writeFileSync(join(folder, name), text);
  }
  writeFileSync(join(folder, 'hostward.yaml'), configuration(bench.folder));
  writeFileSync(join(folder, 'ca.crt'), bench.api.caPem);
  const program = join(folder, 'hostward');
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'src/main.ts')}' "$@"\n`);
  chmodSync(program, 0o755);
});

afterAll(async () => {
  await bench.stop();
  rmSync(folder, { recursive: true, force: true });
});

function run(script: string): Promise<{ code: number | null; out: string; err: string }> {
  const { NODE_COMPILE_CACHE } = process.env;
  const environment = { PATH: `${folder}:${process.env['PATH']}`, HOME: folder, NODE_COMPILE_CACHE };
  const child = spawn('/bin/sh', ['-eu', '-c', script], { cwd: folder, env: environment });
  let out = '';
  let err = '';
  child.stdout.on('data', (part) => (out += part));
  child.stderr.on('data', (part) => (err += part));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, err }));
  });
}

/** What a key hears when it looks at itself, which it may as long as it is good. */
const codeOf = async (key: string, name: string) => (await bench.ask('GET', `${keysPath}/${name}`, { key })).code;
const fileOf = (name: string) => readFileSync(join(folder, name), 'utf8').trim();

describe('docs/keys.md', () => {
  it('runs from its first command to its last', async () => {
    expect(scripts).toHaveLength(5);
    const [make = '', build = '', leak = '', extend = '', rotate = ''] = scripts;
    const made = await run(make);
    expect(made.err).toMatch(/the access key "pipeline" of alice is made/);
    expect(made).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^allowed: .*spec\.scope\.rules\[0\]; the key acts for the user alice; there is no access key build-7, .*\n$/,
      ),
    });
    const pipeline = fileOf('pipeline.key');

    const port = `localhost:${bench.api.port}`;
    const built = await run(build.replace('localhost:8443', port).replace('<ACCESS_KEY>', pipeline));
    expect(built).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^revoked build-7\n$/),
    });
    expect(await codeOf(fileOf('build.key'), 'build-7')).toBe(401);

    expect((await run(extend)).code).toBe(0);
    expect(await codeOf(pipeline, 'pipeline')).toBe(200);
    expect((await run(rotate)).code).toBe(0);
    const rotated = fileOf('pipeline.key');
    expect(rotated).not.toBe(pipeline);
    expect([await codeOf(pipeline, 'pipeline'), await codeOf(rotated, 'pipeline')]).toEqual([200, 200]);
    expect(await run(leak)).toMatchObject({ code: 0, out: 'revoked pipeline\n' });
    expect(await codeOf(rotated, 'pipeline')).toBe(401);
  }, 60_000);
});
