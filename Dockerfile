# The service alone, for a Neo4j of its own: see docker-compose.yml.

FROM maven:3-eclipse-temurin-21 AS model
WORKDIR /build
COPY src/graph/local/pom.xml ./
# The service looks for what it runs on in a folder named after the pom.
RUN mvn -B -q dependency:unpack@model "-Doutput=/runtime/$(sha256sum pom.xml | cut -c1-12)" && rm -r /runtime/*/markers

FROM node:22-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --no-audit --no-fund

FROM node:22-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data RUNTIME_DIR=/runtime
WORKDIR /app
RUN mkdir /data && chown node:node /data
COPY --from=model /runtime /runtime
COPY --from=dependencies /app/node_modules node_modules
COPY package.json package-lock.json ./
COPY schema schema
COPY src src
USER node
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 8080) + '/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/start.mjs"]
