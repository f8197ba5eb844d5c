# The embedding model, where the service looks for it.
FROM maven:3-eclipse-temurin-21 AS model
WORKDIR /fetch
COPY src/graph/local/pom.xml .
RUN mvn --batch-mode --no-transfer-progress dependency:unpack@model -Doutput=/runtime/$(sha256sum pom.xml | cut -c 1-12)

FROM node:22-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --no-audit --no-fund

FROM node:22-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data RUNTIME_DIR=/runtime
WORKDIR /app
COPY --from=model /runtime /runtime
COPY --from=dependencies /app ./
COPY schema ./schema
COPY src ./src
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/start.mjs"]
