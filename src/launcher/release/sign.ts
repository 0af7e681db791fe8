// Signatures in the format of cosign 3: Sigstore bundles, next to a file or as referrers of an image in an OCI layout. With a key of
// one's own and without a public log: offline, and anybody with the public key can check them.
import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '../image/layout.ts';
import { statementType } from './provenance.ts';

const bundleType = 'application/vnd.dev.sigstore.bundle.v0.3+json';
const payloadType = 'application/vnd.in-toto+json';
const signatureType = 'https://sigstore.dev/cosign/sign/v1';

export interface Statement {
  readonly predicateType: string;
}

/** The statement of a signature alone: these are the bytes. */
export function signatureStatement(digest: string): Statement {
  const subject = [{ digest: { sha256: digest.replace('sha256:', '') } }];
  return { _type: statementType, subject, predicateType: signatureType, predicate: {} } as Statement;
}

/** A bundle for `cosign verify-blob --bundle`. */
export function blobBundle(bytes: Uint8Array, key: KeyObject): string {
  const digest = createHash('sha256').update(bytes).digest('base64');
  const messageSignature = {
    messageDigest: { algorithm: 'SHA2_256', digest },
    signature: sign('sha256', bytes, key).toString('base64'),
  };
  return JSON.stringify({ mediaType: bundleType, verificationMaterial: materialOf(key), messageSignature });
}

export function statementBundle(statement: Statement, key: KeyObject): string {
  const payload = Buffer.from(JSON.stringify(statement));
  // What DSSE signs: type and text, each with its length before it.
  const signed = Buffer.concat([
    Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `),
    payload,
  ]);
  const dsseEnvelope = {
    payload: payload.toString('base64'),
    payloadType,
    signatures: [{ sig: sign('sha256', signed, key).toString('base64') }],
  };
  return JSON.stringify({ mediaType: bundleType, verificationMaterial: materialOf(key), dsseEnvelope });
}

/** Cosign finds the key by this hint. */
function materialOf(key: KeyObject): object {
  const der = createPublicKey(key).export({ type: 'spki', format: 'der' });
  return { publicKey: { hint: createHash('sha256').update(der).digest('base64') } };
}

interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  artifactType?: string;
  annotations?: Record<string, string>;
}

/** Attaches a bundle for each statement to the one image of the layout. */
export function attach(
  layout: string,
  statements: readonly Statement[],
  { key, created }: { key: KeyObject; created: number },
) {
  const blob = (mediaType: string, text: string): Descriptor => {
    const hex = sha256(Buffer.from(text));
    writeFileSync(join(layout, 'blobs', 'sha256', hex), text);
    return { mediaType, digest: `sha256:${hex}`, size: Buffer.byteLength(text) };
  };
  const file = join(layout, 'index.json');
  const index = JSON.parse(readFileSync(file, 'utf8')) as { manifests: [Descriptor, ...Descriptor[]] };
  const [image] = index.manifests;
  const { mediaType, digest, size } = image;
  const referrers = statements.map((statement) => {
    const annotations = {
      'dev.sigstore.bundle.content': 'dsse-envelope',
      'dev.sigstore.bundle.predicateType': statement.predicateType,
      'org.opencontainers.image.created': new Date(created * 1000).toISOString().replace('.000', ''),
    };
    const manifest = {
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      artifactType: bundleType,
      config: blob('application/vnd.oci.empty.v1+json', '{}'),
      layers: [blob(bundleType, statementBundle(statement, key))],
      subject: { mediaType, digest, size },
      annotations,
    };
    return { ...blob(manifest.mediaType, JSON.stringify(manifest)), artifactType: bundleType, annotations };
  });
  // `cosign verify --local-image` looks for this mark.
  image.annotations = { ...image.annotations, kind: 'dev.cosignproject.cosign/image' };
  writeFileSync(file, `${JSON.stringify({ ...index, manifests: [image, ...referrers] })}\n`);
}
