// How a release was made, as an in-toto statement with SLSA's provenance. It says no more than this machine knows: who believes it
// believes the people who ran it.

/** A file of the release, or the image, by its SHA-256. */
export interface ReleasedFile {
  readonly name: string;
  readonly sha256: string;
}

export const statementType = 'https://in-toto.io/Statement/v1';
const provenanceType = 'https://slsa.dev/provenance/v1';

interface Build {
  readonly version: string;
  /** The commit that everything was made from. */
  readonly revision: string;
  readonly created: number;
  readonly subjects: readonly ReleasedFile[];
  /** What went in apart from the commit. */
  readonly materials: readonly ReleasedFile[];
  /** Of the programs that made it. */
  readonly builderVersions: Readonly<Record<string, string>>;
}

export function provenanceOf({ version, revision, created, subjects, materials, builderVersions }: Build): object {
  return {
    _type: statementType,
    subject: subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: provenanceType,
    predicate: {
      buildDefinition: {
        buildType: 'urn:hostward:npm-run-release:1',
        externalParameters: { version, sourceDateEpoch: created },
        resolvedDependencies: [
          { name: 'source', digest: { gitCommit: revision } },
          ...materials.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
        ],
      },
      runDetails: { builder: { id: 'urn:hostward:a-machine-of-its-people', version: builderVersions } },
    },
  };
}
