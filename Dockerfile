# The daemon as an image: the bundle, the one native module it needs, and nothing else. Debian's slim variant, because the
# native module's glibc build is the one that is tested here.
FROM node:26-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
# No scripts: the only native module brings its binaries along.
RUN npm ci --ignore-scripts
COPY src src
RUN node src/launcher/build.mjs
# Of the native module: its loader, and the build for this Node, this libc and this processor.
RUN set -eu; \
    arch=$(node -p process.arch); abi=$(node -p process.versions.modules); \
    mkdir -p /image/src/launcher /image/node_modules/isolated-vm/prebuilds/linux-$arch; \
    cp package.json /image/; cp -r dist /image/; cp src/launcher/hostward.mjs src/launcher/launch.mjs /image/src/launcher/; \
    cp -r node_modules/node-gyp-build /image/node_modules/; \
    cd node_modules/isolated-vm; \
    cp package.json LICENSE isolated-vm.js /image/node_modules/isolated-vm/; \
    cp prebuilds/linux-$arch/isolated-vm.abi$abi.glibc.node /image/node_modules/isolated-vm/prebuilds/linux-$arch/
COPY LICENSE /image/

FROM node:26-slim
COPY --from=build /image /opt/hostward
# A number, so that Kubernetes can check runAsNonRoot without looking into the image.
USER 65532:65532
WORKDIR /tmp
ENTRYPOINT ["node", "/opt/hostward/src/launcher/hostward.mjs"]
CMD ["--help"]
