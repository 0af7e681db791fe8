// What a release is made of, as an SPDX document: the packages in the bundle, Node, and the Debian packages of the image. It must
// name nothing that the files of the release do not hold.
import { createHash } from 'node:crypto';
import type { DebianLock } from '../image/debian.ts';

export interface Contents {
  readonly version: string;
  /** In seconds since 1970. */
  readonly created: number;
  /** The file that the bundler writes: one block for each package, its first line `name version (licence)`. */
  readonly licences: string;
  readonly lock: DebianLock;
  /** The packages of Node by name, with the version and the checksum in the form of npm. */
  readonly node: readonly { readonly name: string; readonly version: string; readonly integrity: string }[];
}

interface Part {
  name: string;
  version: string;
  licence: string;
  url: string;
  checksum?: { algorithm: 'SHA256' | 'SHA512'; checksumValue: string };
}

export function sbomOf({ version, created, licences, lock, node }: Contents): object {
  const parts = [
    ...bundled(licences),
    ...node.map(nodePart),
    ...lock.packages.map((one) => debianPart(one, lock.suite)),
  ];
  const own = {
    id: 'SPDXRef-hostward',
    name: 'hostward',
    version,
    licence: 'Apache-2.0',
    url: `pkg:npm/hostward@${version}`,
  };
  const packages = parts.map((part) => ({ ...part, id: `SPDXRef-${part.url.replace(/[^A-Za-z0-9.]+/g, '-')}` }));
  const document = {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `hostward-${version}`,
    creationInfo: {
      created: new Date(created * 1000).toISOString().replace('.000', ''),
      creators: ['Tool: hostward-release'],
    },
    packages: [own, ...packages].map(spdxPackage),
    relationships: [
      { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: own.id },
      ...packages.map(({ id }) => ({ spdxElementId: own.id, relationshipType: 'CONTAINS', relatedSpdxElement: id })),
    ],
  };
  // SPDX wants an address of its own for each document. It need not lead anywhere.
  const digest = createHash('sha256').update(JSON.stringify(document)).digest('hex');
  return { ...document, documentNamespace: `https://spdx.org/spdxdocs/hostward-${version}-${digest}` };
}

function spdxPackage(part: Part & { id: string }): object {
  return {
    SPDXID: part.id,
    name: part.name,
    versionInfo: part.version,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseConcluded: 'NOASSERTION',
    licenseDeclared: part.licence,
    copyrightText: 'NOASSERTION',
    externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: part.url }],
    ...(part.checksum && { checksums: [part.checksum] }),
  };
}

/** Licences that are no expression of SPDX are left open; licences.txt in the package has their texts. */
const expression = /^\(?[A-Za-z0-9.+-]+(?: (?:OR|AND|WITH) [A-Za-z0-9.+-]+)*\)?$/;

function bundled(licences: string): Part[] {
  const heads = [...licences.matchAll(/(?:^|\n-{80}\n\n)(\S+) (\d\S*) \((.*)\)(?=\n)/g)];
  return heads.map(([, name = '', version = '', licence = '']) => ({
    name,
    version,
    licence: expression.test(licence) ? licence : 'NOASSERTION',
    url: `pkg:npm/${name.replace('@', '%40')}@${version}`,
  }));
}

function nodePart({ name, version, integrity }: Contents['node'][number]): Part {
  const checksumValue = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
  return {
    name,
    version,
    licence: 'MIT',
    url: `pkg:npm/${name}@${version}`,
    checksum: { algorithm: 'SHA512', checksumValue },
  };
}

function debianPart({ name, version, architecture, sha256 }: DebianLock['packages'][number], suite: string): Part {
  return {
    name,
    version,
    licence: 'NOASSERTION',
    url: `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}&distro=${suite}`,
    checksum: { algorithm: 'SHA256', checksumValue: sha256 },
  };
}
