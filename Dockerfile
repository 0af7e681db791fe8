# The daemon as an image: the bundle, the one native module it needs, and nothing else. Debian's slim variant, because the
# native module's glibc build is the one that is tested here.
FROM node:26-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
# No scripts: the only native module brings its binaries along.
RUN npm ci --ignore-scripts
COPY src src
COPY docs docs
COPY config config
COPY LICENSE ./
# The same files that `npm run image` puts into its image.
RUN node src/launcher/image.mjs --program /image

FROM node:26-slim
COPY --from=build /image /opt/hostward
# A number, so that Kubernetes can check runAsNonRoot without looking into the image.
USER 65532:65532
WORKDIR /tmp
ENTRYPOINT ["node", "/opt/hostward/src/launcher/hostward.mjs"]
CMD ["--help"]
